import { describe, expect, test } from '@jest/globals';
import { withoutPart } from '../../lib/endpoint-parts.ts';

const SOURCE = `
const body = z.object({ amount: z.int().meta({ description: 'Minor units' }) }).meta({ id: 'Body' });
const get = reading({
  path: '/v1/things',
  handle: async () => found({ docs: 1, handle: 2 }),
  docs: { summary: 'List things' },
});
const post = signed({ path: '/things', handle: async () => found({}), docs: { summary: 'Receive a thing' } });
const other = { docs: 3, handle: 4 };
`;

describe('the parts of an endpoint that a bundle does not need', () => {
  test('are the docs of declarations and schemas, for functions that serve requests', () => {
    expect(withoutPart(SOURCE, 'docs').replaceAll(/\s+/g, ' ')).toBe(
      [
        '',
        'const body = z.object({ amount: z.int() });',
        "const get = reading({ path: '/v1/things', handle: async () => found({ docs: 1, handle: 2 }), });",
        "const post = signed({ path: '/things', handle: async () => found({}), });",
        'const other = { docs: 3, handle: 4 };',
        '',
      ].join(' '),
    );
  });

  test('are the handlers of declarations, for the function that serves the API documents', () => {
    const left = withoutPart(SOURCE, 'handle');
    expect(left).not.toContain('found(');
    expect(left).toContain("docs: { summary: 'List things' }");
    expect(left).toContain(".meta({ id: 'Body' })");
    expect(left).toContain('const other = { docs: 3, handle: 4 };');
  });
});
