import { expect, test } from '@jest/globals';
import { assertContinues } from '../../lambdas/processors/stripe/stripe-pages.ts';

test.each([
  ['accepts a page that continues the list', ['a', 'b', 'c'], false],
  ['refuses a page that starts the list again', ['a', 'b', 'a', 'b'], true],
  ['refuses a page that does not fit the filter', ['a', 'b', 'other'], true],
])('the continuation check %s', (_, ids, isRefused) => {
  const found = ids.map((id) => ({ id }));
  const read = () => assertContinues(found, ({ id }) => id !== 'other');
  if (isRefused) expect(read).toThrow(expect.objectContaining({ code: 'processor_answer_unexpected' }));
  else expect(read).not.toThrow();
});
