/** The difference can be days after `payonce clock advance`. */
let aheadMs = 0;

/** @param date the header `Date` of a response */
export function setClock(date: string | null): void {
  const apiMs = Date.parse(date ?? '');
  if (!Number.isNaN(apiMs)) aheadMs = apiMs - Date.now();
}

/** Before the first response, this is the browser's time. */
export function apiNowMs(): number {
  return Date.now() + aheadMs;
}
