import openapiTS, { astToString } from 'openapi-typescript';
import { openApiDocument } from '../../lambdas/api-docs/openapi.ts';

type Node = Readonly<Record<string, unknown>>;
type Nodes = Readonly<Record<string, Node>>;

/** The groups of operations that a tenant's API key opens, as far as the client calls them. */
const GROUPS = ['Payments', 'Refunds', 'Disputes', 'Orders', 'Events', 'Webhooks'];

const HEAD = '/** The types of the API, made from its description by `npm run docs:tables`. Do not edit. */\n\n';

/** The types of `client/`. */
export function clientTypes(): Promise<string> {
  return typesOf(({ tags }) => GROUPS.includes(String((tags as string[])[0])));
}

/** The types of `console/`: what operators call. */
export function consoleTypes(): Promise<string> {
  return typesOf(({ security }) => (security as Node[]).some((scheme) => 'operator' in scheme));
}

/** Types made from the API's description: bodies, parameters and good answers of some operations; all problems have one schema. */
async function typesOf(isCalled: (operation: Node) => boolean): Promise<string> {
  const document = JSON.parse(JSON.stringify(openApiDocument)) as Node & {
    readonly paths: Readonly<Record<string, Nodes>>;
    readonly components: Nodes;
  };
  const paths = Object.fromEntries(
    Object.entries(document.paths).flatMap(([path, methods]) => {
      const called = Object.entries(methods).filter(([, operation]) => isCalled(operation));
      return called.length === 0 ? [] : [[path, Object.fromEntries(called.map(([name, each]) => [name, good(each)]))]];
    }),
  );
  const { components } = document;
  const used = referencesIn(document, paths, ['#/components/schemas/Problem']);
  const kept = Object.fromEntries(
    ['schemas', 'parameters'].map((kind) => [
      kind,
      Object.fromEntries(
        Object.entries(components[kind] ?? {}).filter(([name]) => used.has(`#/components/${kind}/${name}`)),
      ),
    ]),
  );
  return HEAD + astToString(await openapiTS(JSON.stringify({ ...document, paths, components: kept })));
}

/** An operation without headers of its answers, examples and problems. */
function good(operation: Node): Node {
  const answers = Object.entries(operation['responses'] as Nodes).filter(([status]) => status.startsWith('2'));
  const body = operation['requestBody'] as Node | undefined;
  return {
    operationId: operation['operationId'],
    parameters: operation['parameters'],
    ...(body === undefined ? {} : { requestBody: { required: body['required'], content: contentOf(body) } }),
    responses: Object.fromEntries(
      answers.map(([status, answer]) => [status, { description: answer['description'], content: contentOf(answer) }]),
    ),
  };
}

function contentOf(described: Node): Node {
  const type = 'application/json';
  return { [type]: { schema: (described['content'] as Nodes)[type]?.['schema'] } };
}

/** All that a part of the document refers to, directly or not. */
function referencesIn(document: Node, part: unknown, references: readonly string[]): ReadonlySet<string> {
  const found = new Set<string>();
  const look = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    const { $ref } = node as { readonly $ref?: unknown };
    if (typeof $ref === 'string') follow($ref);
    Object.values(node).forEach(look);
  };
  const follow = (reference: string): void => {
    if (found.has(reference)) return;
    found.add(reference);
    const pieces = reference.slice('#/'.length).split('/');
    look(pieces.reduce<unknown>((inner, piece) => (inner as Node)[piece], document));
  };
  references.forEach(follow);
  look(part);
  return found;
}
