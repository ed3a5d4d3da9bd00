import { expect, test } from '@jest/globals';
import { subjectProblem } from './subject-rules.ts';

test.each([
  'payments: void a second hold that only the claim owner saw',
  'api-docs: address each field by its path',
  'docs: bring the costs up to date',
  'tests: embed the schema of the events',
  'fixup! orders: reject dead letters of the other mode',
  'Revert "orders: reject dead letters of the other mode"',
  `orders: ${'a'.repeat(64)}`,
])('the check of commit subjects accepts "%s"', (subject) => {
  expect(subjectProblem(subject)).toBeUndefined();
});

test.each([
  ['reject dead letters of the other mode', /form "area: imperative"/],
  ['Orders: reject dead letters', /area in lower case/],
  ['orders reject: dead letters', /form "area: imperative"/],
  ['orders:reject dead letters', /form "area: imperative"/],
  ['', /form "area: imperative"/],
  [`orders: ${'a'.repeat(65)}`, /has 73 characters, and 72 are allowed/],
  ['orders: reject dead letters.', /full stop/],
  ['orders: rejects dead letters', /"rejects"/],
  ['orders: rejected dead letters', /"rejected"/],
  ['orders: rejecting dead letters', /"rejecting"/],
  ['simulator: a charge whose callback is kept as an orphan counts as told', /"a"/],
  ['simulator: of overlapping outages, a processor is away', /"of"/],
  ['payments: The second hold', /"The"/],
  ['orders: letters of one mode are not made', /"letters"/],
  ['webhooks: is disabled', /"is"/],
])('the check of commit subjects refuses "%s"', (subject, problem) => {
  expect(subjectProblem(subject)).toMatch(problem);
});
