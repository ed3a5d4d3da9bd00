/** How far the API's clock is ahead of the browser's, in milliseconds. Can be days after `payonce clock advance`. */
let aheadMs = 0;

/** Sets the clock from a response. @param date its header `Date`; null and invalid dates are ignored */
export function setClock(date: string | null): void {
  const apiMs = Date.parse(date ?? '');
  if (!Number.isNaN(apiMs)) aheadMs = apiMs - Date.now();
}

/** Returns the API's time, in Unix milliseconds. Before the first response, it is the browser's time. */
export function apiNowMs(): number {
  return Date.now() + aheadMs;
}
