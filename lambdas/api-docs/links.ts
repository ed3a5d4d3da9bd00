import * as z from 'zod';
import type {
  ZodOpenApiLinkObject,
  ZodOpenApiLinksObject,
  ZodOpenApiOperationObject,
  ZodOpenApiPathsObject,
} from 'zod-openapi';

type Described = ZodOpenApiOperationObject & { readonly operationId: string };
interface Placed {
  readonly path: string;
  readonly method: string;
  readonly operation: Described;
}

/** For operations that are not listed, the collection is the last segment of the path. */
const COLLECTIONS: Readonly<Record<string, string>> = {
  replayWebhooks: 'replays',
  testWebhook: 'deliveries',
  resendWebhook: 'deliveries',
};
/** Operations that do not accept every id of their collection. */
const WITHOUT_LINK = ['redriveQueue', 'dismissMessage'];

/**
 * Returns the paths with links (OpenAPI 3.1, "Link Object") from each response that contains an id to the operations
 * that accept the id, for example from a new refund or a list of refunds to `GET /v1/refunds/{id}`. Two operations are
 * linked only if they require the same kind of key.
 */
export function withLinks(paths: ZodOpenApiPathsObject): ZodOpenApiPathsObject {
  const all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): Placed => ({ path, method, operation: operation as Described })),
  );
  const described: Record<string, Record<string, Described>> = {};
  for (const each of all) (described[each.path] ??= {})[each.method] = linked(each, all);
  return described;
}

function linked(from: Placed, all: readonly Placed[]): Described {
  const { operation } = from;
  const id = idOf(from);
  if (id === undefined) return operation;
  const found = all.filter((to) => leadsTo(from, to)).map((to) => [to.operation.operationId, linkTo(to, id)]);
  if (found.length === 0) return operation;
  const links = Object.fromEntries(found) as ZodOpenApiLinksObject;
  const responses = Object.fromEntries(
    Object.entries(operation.responses ?? {}).map(([status, response]) => [
      status,
      status.startsWith('2') ? { ...response, links } : response,
    ]),
  );
  return { ...operation, responses };
}

/** For a list, returns the path to the first object's id. */
function idOf({ method, operation }: Placed): string | undefined {
  const [answer] = Object.entries(operation.responses ?? {}).flatMap(([status, each]) =>
    status.startsWith('2')
      ? [each as { readonly content: Readonly<Record<string, { readonly schema: z.ZodType }>> }]
      : [],
  );
  const schema = answer?.content['application/json']?.schema;
  if (!(schema instanceof z.ZodObject)) return undefined;
  const { id, data } = schema.shape as Readonly<Record<string, z.ZodType>>;
  if (method === 'post') return id === undefined ? undefined : '$response.body#/id';
  const isList = data instanceof z.ZodArray && data.element instanceof z.ZodObject && 'id' in data.element.shape;
  return isList ? '$response.body#/data/0/id' : undefined;
}

/** If `to` is a list of a payment's objects, `from` supplies the payment's id. */
function leadsTo(from: Placed, to: Placed): boolean {
  const { operationId } = to.operation;
  if (!hasSameKey(from.operation, to.operation)) return false;
  if (asksForPayment(to)) return collectionOf(from) === 'payments';
  const target = /^(?<before>.*)\/(?<collection>\w+)\/\{(?<last>\w+)\}[^{]*$/.exec(to.path)?.groups;
  if (target === undefined || WITHOUT_LINK.includes(operationId)) return false;
  const { before = '', collection } = target;
  const isNested = before.includes('{');
  return collectionOf(from) === collection && (!isNested || from.path.startsWith(before));
}

function asksForPayment({ path, operation }: Placed): boolean {
  const { query } = operation.requestParams ?? {};
  return !path.includes('{') && query instanceof z.ZodObject && 'payment' in query.shape;
}

function collectionOf({ path, operation }: Placed): string | undefined {
  return COLLECTIONS[operation.operationId] ?? path.split('/').at(-1);
}

function hasSameKey(from: Described, to: Described): boolean {
  const kinds = new Set((from.security ?? []).flatMap((scheme) => Object.keys(scheme)));
  return (to.security ?? []).some((scheme) => Object.keys(scheme).some((kind) => kinds.has(kind)));
}

function linkTo(to: Placed, id: string): ZodOpenApiLinkObject {
  const { operationId } = to.operation;
  if (asksForPayment(to)) return { operationId, parameters: { payment: id } };
  const names = [...to.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  const parameters = Object.fromEntries(
    names.map((name, index) => [name, index === names.length - 1 ? id : `$request.path.${name}`]),
  );
  return { operationId, parameters };
}
