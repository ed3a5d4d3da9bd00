/** Possible values of each parameter, by name. */
export type Parameters = Readonly<Record<string, readonly string[]>>;
export type Row = Readonly<Record<string, string>>;

/** Returns a small set of rows in which every pair of values of two parameters occurs. */
export function pairwise(parameters: Parameters): readonly Row[] {
  const names = Object.keys(parameters);
  const missing = new Map<string, Row>();
  for (const [index, one] of names.entries()) {
    for (const other of names.slice(index + 1)) {
      for (const first of parameters[one] ?? [])
        for (const second of parameters[other] ?? []) {
          const pair = { [one]: first, [other]: second };
          missing.set(keyOf(pair), pair);
        }
    }
  }
  const rows: Row[] = [];
  for (const seed of missing.values()) {
    const row: Record<string, string> = { ...seed };
    for (const name of names.filter((each) => !(each in row))) {
      const gains = (parameters[name] ?? []).map((value) => ({ value, gain: gainOf(row, { [name]: value }, missing) }));
      row[name] = gains.reduce((best, each) => (each.gain > best.gain ? each : best)).value;
    }
    for (const [key, pair] of missing)
      if (Object.entries(pair).every(([name, value]) => row[name] === value)) missing.delete(key);
    rows.push(row);
  }
  return rows;
}

function keyOf(pair: Row): string {
  return JSON.stringify(Object.entries(pair).sort(([one], [other]) => (one < other ? -1 : 1)));
}

function gainOf(row: Row, added: Row, missing: ReadonlyMap<string, Row>): number {
  return Object.entries(row).filter(([name, value]) => missing.has(keyOf({ ...added, [name]: value }))).length;
}
