import type { synthesize } from '../support/synth.ts';

type Stacks = Awaited<ReturnType<typeof synthesize>>;
type Json = Readonly<Record<string, unknown>>;

/**
 * Lists the differences between all templates of two deployments. Each line is `+` (added), `-` (removed) or `~`
 * (changed), followed by the stack, the resource type and the path. Resources are matched by logical id. A list element
 * is named by its `Sid`.
 */
export function differences(before: Stacks, after: Stacks): readonly string[] {
  const found = (Object.keys(before) as (keyof Stacks)[]).flatMap((stack) => {
    const [old, next] = [before[stack], after[stack]].map((template) => (template?.toJSON() ?? {}) as Json);
    const { Resources: oldResources, ...oldRest } = old ?? {};
    const { Resources: nextResources, ...nextRest } = next ?? {};
    return [
      ...between(oldRest, nextRest, ''),
      ...ofResources((oldResources ?? {}) as Json, (nextResources ?? {}) as Json),
    ].map((text) => text.replace(' ', ` ${stack} `));
  });
  return [...new Set(found)].toSorted();
}

function ofResources(old: Json, next: Json): readonly string[] {
  return keysOf(old, next).flatMap((id) => {
    const [left, right] = [old[id], next[id]] as readonly (Json | undefined)[];
    const type = String((left ?? right)?.['Type']);
    return between(left, right, type);
  });
}

function between(old: unknown, next: unknown, path: string): readonly string[] {
  if (JSON.stringify(old) === JSON.stringify(next)) return [];
  if (old === undefined) return [`+ ${path}`];
  if (next === undefined) return [`- ${path}`];
  if (Array.isArray(old) && Array.isArray(next)) return [...less(old, next, '-', path), ...less(next, old, '+', path)];
  if (!isObject(old) || !isObject(next)) return [`~ ${path}`];
  return keysOf(old, next).flatMap((key) => between(old[key], next[key], `${path}.${key}`));
}

function less(list: readonly unknown[], other: readonly unknown[], sign: string, path: string): readonly string[] {
  const known = new Set(other.map((each) => JSON.stringify(each)));
  const missing = list.filter((each) => !known.has(JSON.stringify(each)));
  return missing.map((each) => `${sign} ${path}[${sidOf(each)}]`);
}

function sidOf(element: unknown): string {
  const sid = isObject(element) ? element['Sid'] : undefined;
  return typeof sid === 'string' ? sid : '';
}

const keysOf = (left: Json, right: Json) => [...new Set([...Object.keys(left), ...Object.keys(right)])];

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
