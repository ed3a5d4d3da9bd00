import { afterEach, beforeEach, jest } from '@jest/globals';

/** Call it at the top of a test file. */
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
