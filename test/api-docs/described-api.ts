import Ajv2020 from '@redocly/ajv/dist/2020.js';
import { openApiDocument } from '../../lambdas/api-docs/openapi.ts';
import type { CodeSample } from '../../lambdas/api-docs/samples.ts';

export type Node = Readonly<Record<string, unknown>>;

interface DescribedParameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
  readonly schema: Node;
}

interface DescribedResponse {
  readonly description: string;
  readonly headers: Readonly<Record<string, Node>>;
  readonly content: Readonly<
    Record<string, { readonly schema: Node; readonly examples: Readonly<Record<string, Node>> }>
  >;
}

export interface DescribedOperation {
  readonly operationId: string;
  readonly method: string;
  readonly path: string;
  readonly tags: readonly string[];
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters: readonly DescribedParameter[];
  readonly requestBody?: {
    readonly required: boolean;
    readonly content: { readonly 'application/json': { readonly schema: Node } };
  };
  readonly responses: Readonly<Record<string, DescribedResponse>>;
  readonly 'x-codeSamples'?: readonly CodeSample[];
}

export const document = JSON.parse(JSON.stringify(openApiDocument)) as Node & {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Node>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Node>> };
};

/** The document uses some references a hundred times. */
const parts = new Map<string, unknown>();
const references = new WeakMap<object, string>();

/** The document has no cycles. */
export function resolved(node: unknown): unknown {
  if (typeof node !== 'object' || node === null) return node;
  if (Array.isArray(node)) return node.map(resolved);
  const { $ref } = node as { readonly $ref?: unknown };
  if (typeof $ref !== 'string') {
    return Object.fromEntries(Object.entries(node).map(([name, inner]) => [name, resolved(inner)]));
  }
  if (!parts.has($ref)) {
    const pieces = $ref.slice('#/'.length).split('/');
    const part = resolved(pieces.reduce<unknown>((found, piece) => (found as Node)[piece], document));
    parts.set($ref, part);
    references.set(part as object, $ref);
  }
  return parts.get($ref);
}

/** The validator then compiles each referenced schema once. */
function referring(node: unknown): unknown {
  if (typeof node !== 'object' || node === null) return node;
  if (Array.isArray(node)) return node.map(referring);
  const reference = references.get(node);
  if (reference !== undefined) return { $ref: `${DOCUMENT}${reference}` };
  return Object.fromEntries(Object.entries(node).map(([name, inner]) => [name, referring(inner)]));
}

export const operations: readonly DescribedOperation[] = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => {
    const { parameters = [], ...rest } = resolved(operation) as Partial<DescribedOperation>;
    return { ...rest, parameters, path, method: method.toUpperCase() } as DescribedOperation;
  }),
);

// Another test validates the document's schemas. A second validation here would take longer than most suites.
const ajv = new Ajv2020.default({
  strict: false,
  meta: false,
  validateSchema: false,
  validateFormats: false,
  allErrors: true,
});
const DOCUMENT = 'api';
ajv.addSchema({ components: document.components }, DOCUMENT);
const compiled = new WeakMap<Node, ReturnType<typeof ajv.compile>>();

/** Returns the reason why the value does not match; undefined when it matches. */
export function mismatch(schema: Node, value: unknown): string | undefined {
  const validate = compiled.get(schema) ?? ajv.compile(referring(schema) as Node);
  compiled.set(schema, validate);
  return validate(value) ? undefined : ajv.errorsText(validate.errors);
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
}

/** The document does not list these headers, which every response contains. */
const COMMON_HEADERS = new Set(['content-type', 'cache-control', 'x-content-type-options']);
/** The gateway renames this header, so clients never receive it, and the document does not list it. */
const RENAMED_HEADER = 'www-authenticate';

/** Undefined when there is no difference, or when the document has no such operation. */
export function undescribed(method: string, address: string, { status, headers, body }: Answer): string | undefined {
  const [path = ''] = address.split('?');
  const onPath = operations.filter((operation) => pathPattern(operation.path).test(path));
  const operation = onPath.find((each) => each.method === method);
  if (operation === undefined) return undefined;
  const place = `${operation.operationId} ${status}`;
  const response = operation.responses[status];
  if (response === undefined) return `${place} ${String(body['code'])} is not described`;
  const type = headers['Content-Type'] ?? '';
  const { schema, examples = {} } = (response.content[type] ?? {}) as { schema?: Node; examples?: Node };
  if (schema === undefined) return `${place} does not describe ${type}`;
  if (type === 'application/problem+json' && !(String(body['code']) in examples)) {
    return `${place} does not name ${String(body['code'])}`;
  }
  const described = new Set(Object.keys(response.headers).map((name) => name.toLowerCase()));
  const unknown = Object.keys(headers).find((name) => {
    const header = name.toLowerCase();
    return !described.has(header) && !COMMON_HEADERS.has(header) && header !== RENAMED_HEADER;
  });
  if (unknown !== undefined) return `${place} does not describe the header ${unknown}`;
  const { Location: location } = headers;
  if (location !== undefined && !leadsToAnObject(path, location)) return `${place} has a bad Location: ${location}`;
  const fault = mismatch(schema, body);
  return fault === undefined ? undefined : `${place}: ${fault}`;
}

/** The API may be served under a stage or base path. */
function leadsToAnObject(path: string, location: string): boolean {
  const base = 'https://api.example/base';
  const { href } = new URL(location, `${base}${path}`);
  const isObject = ({ method, path: each }: DescribedOperation) =>
    method === 'GET' && pathPattern(each).test(href.slice(base.length));
  return href.startsWith(`${base}/`) && operations.some(isObject);
}

const patterns = new Map<string, RegExp>();

/** Each response is compared with all templates. */
function pathPattern(path: string): RegExp {
  const pattern = patterns.get(path) ?? new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}/?$`);
  patterns.set(path, pattern);
  return pattern;
}

export function numbersIn(node: unknown, place = ''): readonly (readonly [place: string, schema: Node])[] {
  if (typeof node !== 'object' || node === null) return [];
  const schema = node as Node;
  const { type, const: only } = schema;
  const isNumber = [type].flat().some((each) => each === 'integer' || each === 'number') || typeof only === 'number';
  return [
    ...(isNumber ? [[place, schema] as const] : []),
    ...Object.entries(schema).flatMap(([name, inner]) =>
      name === 'examples' || name === 'example' ? [] : numbersIn(inner, `${place}/${name}`),
    ),
  ];
}
