import { describe, test } from '@jest/globals';

interface DeclaredTests {
  readonly describe: (title: string, body: () => void) => void;
  readonly test: (title: string, body: () => Promise<void>) => void;
}

/** @param otherwise the reason for the skip, which is added to the titles of skipped tests */
export function testsOf(isDeclared: boolean, otherwise: string): DeclaredTests {
  if (isDeclared) return { describe, test };
  const skipped = (title: string) => `${title} (skipped: ${otherwise})`;
  return {
    describe: (title, body) => describe.skip(skipped(title), body),
    test: (title, body) => test.skip(skipped(title), body),
  };
}
