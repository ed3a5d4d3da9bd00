import { openApiDocument } from '../../lambdas/api-docs/openapi.ts';

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
  readonly description?: string;
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly schema: Schema;
  readonly description?: string;
}

interface Operation {
  readonly operationId?: string;
  readonly parameters?: readonly (Parameter | { readonly $ref: string })[];
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** Schemas to which these schemas refer are added automatically. */
const OPEN = [
  'CreatePayment',
  'CapturePayment',
  'RefundPayment',
  'CreateOrder',
  'CreateWebhookEndpoint',
  'UpdateWebhookEndpoint',
  'RotateWebhookSecret',
  'ReplayWebhooks',
  'Problem',
  'Payment',
  'Refund',
  'Capture',
  'Cancellation',
  'Dispute',
  'Order',
  'Transition',
  'Event',
  'WebhookEndpoint',
  'WebhookEndpointWithSecret',
  'DeletedWebhookEndpoint',
  'WebhookDelivery',
  'WebhookReplay',
];

/** Operations whose queries the Python client accepts. */
const LISTS = ['listPayments', 'listDisputes', 'listOrders', 'listEvents', 'listWebhookDeliveries'];

/** A larger enumeration, such as all currencies, is represented as a string. */
const MAX_LITERALS = 30;

/** The fields depend on the kind, so the Python client represents these objects as dictionaries. */
const OF_SEVERAL_KINDS = ['EventDataObject'];

const HEAD = `"""The types of the API, made from its description by \`npm run generate\`. Amounts are in minor units."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

if TYPE_CHECKING:
    # Type checkers include this module. It need not be installed.
    from typing_extensions import NotRequired
`;

export function pythonTypes(): string {
  const document = JSON.parse(JSON.stringify(openApiDocument)) as Document;
  const classes = new Map<string, string>();
  const waiting = [...OPEN];
  const nameOf = (reference: string): string => {
    const name = reference.slice(reference.lastIndexOf('/') + 1);
    if (!classes.has(name) && !waiting.includes(name)) waiting.push(name);
    return name;
  };
  const write = (name: string, schema: Schema): string => {
    if (classes.has(name)) throw new Error(`two schemas have the name ${name}`);
    classes.set(name, '');
    const { properties = {}, required = [] } = schema;
    const fields = Object.entries(properties).map(([field, inner]) => {
      const type = typeOf(inner, `${name}${pascal(field)}`);
      const shown = required.includes(field) ? type : `NotRequired[${type}]`;
      return `    ${field}: ${shown}\n${docOf(inner.description)}`;
    });
    classes.set(name, `\n\nclass ${name}(TypedDict):\n${docOf(schema.description)}${fields.join('') || '    pass\n'}`);
    return name;
  };
  const typeOf = (schema: Schema, name: string): string => {
    const { $ref, enum: values, anyOf, oneOf, items, properties, additionalProperties } = schema;
    if ($ref !== undefined) return nameOf($ref);
    if (schema.const !== undefined) return literal([schema.const]);
    if (values !== undefined && values.length <= MAX_LITERALS) return literal(values);
    const parts = anyOf ?? oneOf;
    if (parts !== undefined) {
      const objects = parts.filter((part) => part.properties !== undefined).length;
      return union(parts.map((part) => typeOf(part, objects > 1 ? `${name}${kindOf(part)}` : name)));
    }
    if (Array.isArray(schema.type)) return union(schema.type.map((type: string) => typeOf({ ...schema, type }, name)));
    if (schema.type === 'array') return `list[${items === undefined ? 'Any' : typeOf(items, name)}]`;
    const isKnown = Object.keys(properties ?? {}).length > 0 && !OF_SEVERAL_KINDS.includes(name);
    if (isKnown) return write(name, schema);
    if (schema.type === 'object')
      return `dict[str, ${typeof additionalProperties === 'object' ? typeOf(additionalProperties, name) : 'Any'}]`;
    return SIMPLE[String(schema.type)] ?? 'Any';
  };
  for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
    const schema = document.components.schemas[name];
    if (schema === undefined) throw new Error(`the API has no schema ${name}`);
    if (schema.properties !== undefined) write(name, schema);
    else classes.set(name, `\n\n${name}: TypeAlias = ${aliasOf(typeOf(schema, name))}\n`);
  }
  const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));
  for (const id of LISTS) {
    const { parameters } = operations.find(({ operationId }) => operationId === id) ?? {};
    if (parameters === undefined) throw new Error(`the API has no operation ${id}`);
    const query = parameters.flatMap((each) => ('in' in each && each.in === 'query' ? [each] : []));
    const properties = query.map(({ name, schema, description }) => [name, { description, ...schema }] as const);
    write(pascal(id), { properties: Object.fromEntries(properties) as Record<string, Schema> });
  }
  return (
    HEAD +
    [...classes]
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([, text]) => text)
      .join('')
  );
}

const SIMPLE: Readonly<Record<string, string>> = {
  string: 'str',
  integer: 'int',
  number: 'float',
  boolean: 'bool',
  null: 'None',
};

/** The classes that a type names may be defined later in the file. */
const aliasOf = (type: string): string => `"${type.replaceAll('"', "'")}"`;

function kindOf({ properties = {} }: Schema): string {
  const { const: kind } = Object.values(properties).find((each) => typeof each.const === 'string') ?? {};
  return pascal(String(kind));
}

const union = (types: readonly string[]): string => [...new Set(types)].join(' | ');

const literal = (values: readonly unknown[]): string =>
  values[0] === null
    ? 'None'
    : `Literal[${values.map((value) => (value === true ? 'True' : value === false ? 'False' : JSON.stringify(value))).join(', ')}]`;

const pascal = (name: string): string => name.replaceAll(/(?:^|_)(\w)/g, (_, first: string) => first.toUpperCase());

const docOf = (description: string | undefined): string =>
  description === undefined ? '' : `    """${description.replaceAll(/[\\"]/g, String.raw`\$&`)}"""\n`;
