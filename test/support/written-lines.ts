import { afterEach, beforeEach, jest } from '@jest/globals';

/** What the packages for logs and metrics write, through a console of their own, during a test. Call it at the top of a file. */
export function catchWrittenLines(): readonly string[] {
  const lines: string[] = [];
  beforeEach(() => {
    lines.length = 0;
    for (const stream of [process.stdout, process.stderr]) {
      jest.spyOn(stream, 'write').mockImplementation((text) => {
        lines.push(String(text));
        return true;
      });
    }
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });
  return lines;
}
