import { existsSync, readFileSync } from 'node:fs';

/**
 * Environment variable with the path of a file, to which each test file appends one line with its costs. The programs
 * that run the suites set the variable.
 */
export const COSTS = 'PAYONCE_TEST_COSTS';

interface FileCost {
  readonly file: string;
  /** CPU time of the worker while it loaded the file and ran its tests, in milliseconds. */
  readonly cpuMs: number;
  readonly cases: number;
}

export function costliestFiles(path: string, most: number): readonly string[] {
  const lines = existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : [];
  const costs = lines.filter((line) => line !== '').map((line) => JSON.parse(line) as FileCost);
  const costliest = costs.toSorted((left, right) => right.cpuMs - left.cpuMs).slice(0, most);
  return [
    `${'costliest files'.padEnd(64)}${'CPU s'.padStart(8)}${'cases'.padStart(8)}`,
    ...costliest.map(
      ({ file, cpuMs, cases }) =>
        `${file.padEnd(64)}${(cpuMs / 1_000).toFixed(1).padStart(8)}${String(cases).padStart(8)}`,
    ),
  ];
}
