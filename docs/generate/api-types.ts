import openapiTS, { astToString } from 'openapi-typescript';
import { openApiDocument } from '../../lambdas/api-docs/openapi.ts';

type Node = Readonly<Record<string, unknown>>;
type Nodes = Readonly<Record<string, Node>>;

const HEAD = '/** The types of the API, generated from its description by `npm run generate`. */\n\n';

/** All problems share one schema. */
export async function apiTypes(): Promise<string> {
  const document = JSON.parse(JSON.stringify(openApiDocument)) as Node & {
    readonly paths: Readonly<Record<string, Nodes>>;
    readonly components: Nodes;
  };
  const paths = Object.fromEntries(
    Object.entries(document.paths).map(([path, methods]) => [
      path,
      Object.fromEntries(Object.entries(methods).map(([name, each]) => [name, good(each)])),
    ]),
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
