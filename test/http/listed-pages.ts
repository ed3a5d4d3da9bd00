import * as z from 'zod';
import { ENDPOINTS } from '../../lambdas/api-docs/endpoints.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import type { Reply } from '../world/api.ts';
import { ListedWorld } from './listed-world.ts';

type Query = Readonly<Record<string, string>>;

interface List {
  readonly path: string;
  readonly filters: Readonly<Record<string, z.ZodType>>;
  readonly limit: z.ZodType | undefined;
}

interface ListedPage {
  readonly real: string;
  readonly asked: Query;
  readonly calls: number;
  readonly read: number;
  readonly reply: Reply;
  readonly shown: number;
  /** True if the filters exclude each other. */
  readonly isRefused: boolean;
}

/** New lists and filters are included automatically. */
export const LISTS: readonly List[] = ENDPOINTS.filter(({ kind, docs: { answers } }) => {
  const { schema } = answers[200] ?? {};
  return kind === 'reading' && schema instanceof z.ZodObject && schema.shape['data'] instanceof z.ZodArray;
}).map(({ path, query }) => {
  const { limit, ...filters } = (query?.shape ?? {}) as Readonly<Record<string, z.ZodType>>;
  return { path, filters, limit };
});

const MOST_FILTERS = 3;

/** These lists have no pages and filters. */
export const CONSTANT_CALLS: Readonly<Record<string, number>> = {
  // One query for each shard of each queue.
  '/v1/admin/queues': 72,
};

export async function pageOf(
  world: ListedWorld,
  real: string,
  query: Query,
): Promise<Pick<ListedPage, 'calls' | 'read' | 'reply' | 'shown'>> {
  const { calls, read, result } = await world.database.counted(() => world.get(real, query));
  const { data } = result.body;
  return { calls, read, reply: result, shown: Array.isArray(data) ? data.length : 0 };
}

/** @param which selects the pairs and triples */
export async function* filteredPages(
  world: ListedWorld,
  { path, filters }: List,
  which: (combinations: readonly Query[]) => readonly Query[] = (all) => all,
): AsyncGenerator<ListedPage> {
  const base = world.baseOf(path);
  const all = await queriesOf(world, path, filters);
  const [few, several] = [all.filter(isSingle), all.filter((asked) => !isSingle(asked))];
  for (const asked of [...few, ...which(several)]) {
    for (const real of world.pathsOf(path)) {
      let page = await pageOf(world, real, { ...base, ...asked });
      // Some filters require a time range.
      if (page.reply.status === 400 && 'created_from' in filters) {
        page = await pageOf(world, real, { ...base, ...world.range, ...asked });
      }
      const isRefused = page.reply.status === 400 && String(page.reply.body['param']) in filters;
      yield { real, asked, ...page, isRefused };
    }
  }
}

/** The values of an enumeration are those that occur in the lists, and one other. */
async function valuesOf(
  world: ListedWorld,
  path: string,
  name: string,
  schema: z.ZodType | undefined,
): Promise<readonly string[]> {
  const samples = await world.samplesOf(path, name);
  if (samples !== undefined) return samples;
  const inner = schema instanceof z.ZodOptional ? schema.unwrap() : schema;
  invariant(inner instanceof z.ZodEnum, `the filter ${name} of ${path} needs sample values in ListedWorld`);
  const [held, others] = [true, false].map((isHeld) =>
    inner.options.filter((each) => world.held.has(String(each)) === isHeld),
  );
  return [...(held ?? []), ...(others ?? []).slice(0, 1)].map(String);
}

function isSingle(asked: Query): boolean {
  return Object.keys(asked).length < 2;
}

async function queriesOf(world: ListedWorld, path: string, filters: List['filters']): Promise<readonly Query[]> {
  let queries: readonly Query[] = [{}];
  for (const [name, schema] of Object.entries(filters)) {
    const values = await valuesOf(world, path, name, schema);
    const extended = queries.filter((asked) => Object.keys(asked).length < MOST_FILTERS);
    queries = [...queries, ...extended.flatMap((asked) => values.map((value) => ({ ...asked, [name]: value })))];
  }
  return queries;
}

/**
 * Lists in `CONSTANT_CALLS` are excluded.
 * @param rows number of rows in each list
 */
export async function mostListCalls(rows: number): Promise<number> {
  const world = await ListedWorld.with(rows);
  let most = 0;
  for (const list of LISTS.filter(({ path }) => CONSTANT_CALLS[path] === undefined)) {
    for await (const { calls } of filteredPages(world, list)) most = Math.max(most, calls);
  }
  return most;
}
