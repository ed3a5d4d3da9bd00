/** Tests the guarantee "constant calls". */
import { beforeAll, describe, expect, test } from '@jest/globals';
import * as z from 'zod';
import { ENDPOINTS } from '../../lambdas/api-docs/endpoints.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { ListedWorld } from './listed-world.ts';

type Query = Readonly<Record<string, string>>;

const ROWS = 1_200;
/** Maximum number of DynamoDB calls of a page of the default size. */
const MAX_CALLS = 60;
/** Maximum number of additional calls for each object of a larger page. */
const MAX_CALLS_PER_OBJECT = 4;
/** Lists that have neither pages nor filters, each with its constant number of DynamoDB calls. */
const CONSTANT: Readonly<Record<string, number>> = {
  // One query for each shard of each queue.
  '/v1/admin/queues': 72,
};

/** All endpoints that respond with a list. A new list or filter is therefore tested automatically. */
const LISTS = ENDPOINTS.filter(({ kind, docs: { answers } }) => {
  const { schema } = answers[200] ?? {};
  return kind === 'reading' && schema instanceof z.ZodObject && schema.shape['data'] instanceof z.ZodArray;
}).map(({ path, query }) => {
  const { limit, ...filters } = (query?.shape ?? {}) as Readonly<Record<string, z.ZodType>>;
  return { path, filters, limit };
});

let world: ListedWorld;
beforeAll(async () => {
  world = await ListedWorld.with(ROWS);
});

async function pageOf(real: string, query: Query) {
  const { calls, result } = await world.database.counted(() => world.get(real, query));
  const { data } = result.body;
  return { calls, reply: result, shown: Array.isArray(data) ? data.length : 0 };
}

/**
 * Returns the values of a filter that the test tries: one that matches all rows, and one that matches none. For an
 * enumeration, returns the values in its schema.
 */
async function valuesOf(path: string, name: string, schema: z.ZodType | undefined): Promise<readonly string[]> {
  const samples = await world.samplesOf(path, name);
  if (samples !== undefined) return samples;
  const inner = schema instanceof z.ZodOptional ? schema.unwrap() : schema;
  invariant(inner instanceof z.ZodEnum, `the filter ${name} of ${path} needs sample values in ListedWorld`);
  const [held, others] = [true, false].map((isHeld) =>
    inner.options.filter((each) => world.held.has(String(each)) === isHeld),
  );
  return [...(held ?? []), ...(others ?? []).slice(0, 1)].map(String);
}

async function queriesOf(path: string, filters: Readonly<Record<string, z.ZodType>>): Promise<readonly Query[]> {
  const single: (readonly Query[])[] = [];
  for (const [name, schema] of Object.entries(filters)) {
    single.push((await valuesOf(path, name, schema)).map((value) => ({ [name]: value })));
  }
  const pairs = single.flatMap((ones, at) =>
    single.slice(at + 1).flatMap((others) => ones.flatMap((one) => others.map((other) => ({ ...one, ...other })))),
  );
  return [{}, ...single.flat(), ...pairs];
}

describe.each(LISTS)('a page of $path', ({ path, filters, limit }) => {
  test('costs at most 60 DynamoDB calls with every filter and every pair of filters', async () => {
    const tooMany: unknown[] = [];
    const tried = new Set<string>();
    for (const asked of await queriesOf(path, filters)) {
      for (const real of world.pathsOf(path)) {
        const base = world.baseOf(path);
        let page = await pageOf(real, { ...base, ...asked });
        // Some filters need a range of time.
        if (page.reply.status === 400 && 'created_from' in filters) {
          page = await pageOf(real, { ...base, ...world.range, ...asked });
        }
        // Some filters exclude each other.
        const isRefused = page.reply.status === 400 && String(page.reply.body['param']) in filters;
        if (!isRefused) expect([real, asked, page.reply.status]).toEqual([real, asked, 200]);
        if (!isRefused) for (const name of Object.keys(asked)) tried.add(name);
        if (page.calls > (CONSTANT[path] ?? MAX_CALLS)) tooMany.push({ real, asked, calls: page.calls });
      }
    }
    expect(tooMany).toEqual([]);
    expect([...tried].sort()).toEqual(Object.keys(filters).sort());
  });

  if (limit === undefined) return;
  test('costs at most a few more calls for each additional object', async () => {
    const largest = ['1000', '100', '25'].find((size) => limit.safeParse(size).success) ?? '1';
    let mostShown = 0;
    for (const real of world.pathsOf(path)) {
      const { calls, shown } = await pageOf(real, { ...world.baseOf(path), limit: largest });
      expect(calls).toBeLessThanOrEqual(MAX_CALLS + MAX_CALLS_PER_OBJECT * shown);
      mostShown = Math.max(mostShown, shown);
    }
    // An empty list would prove nothing.
    expect(mostShown).toBeGreaterThanOrEqual(Number(largest));
  });
});
