import { describe, expect, test } from '@jest/globals';
import { QUEUES } from '../../lambdas/operators/use/queue-lists.ts';
import { mismatch, type Node, operations } from './described-api.ts';

type Links = Readonly<
  Record<string, { readonly operationId: string; readonly parameters: Readonly<Record<string, string>> }>
>;

const links = operations.flatMap(({ operationId, responses }) =>
  Object.entries(responses).flatMap(
    ([status, { links: found = {}, content }]: readonly [string, { links?: Links; content: Node }]) =>
      Object.values(found).map((link) => ({ from: `${operationId} ${status}`, link, content })),
  ),
);

/** Undefined for an expression that refers to the request. */
function valueOf(expression: string, body: unknown): unknown {
  const [, pointer] = /^\$response\.body#\/(.+)$/.exec(expression) ?? [];
  return pointer?.split('/').reduce<unknown>((found, piece) => (found as Node | undefined)?.[piece], body);
}

const parameterOf = (id: string, name: string) =>
  operations.find(({ operationId }) => operationId === id)?.parameters.find((each) => each.name === name);

describe('the links between operations', () => {
  test('lead to every operation with an id in its path, except those whose ids no response or only some responses can provide', () => {
    const taking = operations.filter(({ parameters }) => parameters.some(({ in: where }) => where === 'path'));
    const linked = new Set(links.map(({ link }) => link.operationId));
    expect(taking.map(({ operationId }) => operationId).filter((each) => !linked.has(each))).toEqual([
      'receiveCallback',
      // The sender of the event chooses the id.
      'getPaymentRequest',
      'getIdempotencyRecord',
      // Only the messages of some queues can be redriven or dismissed.
      'redriveQueue',
      'dismissMessage',
      // Only some entries are callbacks.
      'dismissCallback',
    ]);
    for (const { operationId, parameters } of taking)
      for (const { name, in: where, schema } of parameters)
        if (where === 'path' && !('enum' in schema))
          expect([operationId, name, linked.has(operationId) || 'example' in schema]).toEqual([
            operationId,
            name,
            true,
          ]);
  });

  test('lead to operations that accept the same kind of API key', () => {
    const kindsOf = (id: string) =>
      (operations.find(({ operationId }) => operationId === id)?.security ?? []).flatMap((each) => Object.keys(each));
    const others = links.filter(({ from, link }) => {
      const kinds = kindsOf(from.split(' ')[0] ?? '');
      return !kindsOf(link.operationId).some((kind) => kinds.includes(kind));
    });
    expect(others.map(({ from, link }) => `${from} leads to ${link.operationId}`)).toEqual([]);
  });

  test('use example ids that the target operations accept', () => {
    for (const { from, link, content } of links) {
      const { examples } = content['application/json'] as { readonly examples: Readonly<Record<string, Node>> };
      const faults = Object.entries(link.parameters).flatMap(([name, expression]) => {
        const { schema } = parameterOf(link.operationId, name) ?? {};
        if (schema === undefined) return [`no parameter ${name}`];
        const ids = Object.values(examples).flatMap(({ value }) => valueOf(expression, value) ?? []);
        if (ids.length === 0 && expression.startsWith('$response')) return [`no example has ${expression}`];
        return ids.flatMap((id) => mismatch(schema, id) ?? []);
      });
      expect([from, link.operationId, faults]).toEqual([from, link.operationId, []]);
    }
  });
});

test('the redrive operation accepts no id of a queue that cannot be redriven', () => {
  const id = (operation: string) => parameterOf(operation, 'id')?.schema ?? {};
  for (const name of Object.keys(QUEUES)) {
    expect(mismatch(id('listQueueEntries'), name)).toBeUndefined();
    expect(mismatch(id('redriveQueue'), name)).toBeDefined();
  }
  expect(mismatch(id('redriveQueue'), id('redriveQueue')['example'])).toBeUndefined();
});
