import { Stack } from 'aws-cdk-lib';
import { CfnFunction, type Function } from 'aws-cdk-lib/aws-lambda';

/** The quota of all variables of a function, names and values together (AWS Lambda developer guide, "Lambda quotas"). Bytes. */
const MAX_BYTES = 4_096;
/** Maximum length of the address of a queue without its name, or of an ARN without the name of its resource. */
const ADDRESS_BYTES = 60;
/** CloudFormation appends this to the name of the stack and the logical id. */
const SUFFIX_BYTES = 14;
/** The maximum of SQS, which allows the longest generated names. */
const NAME_BYTES = 80;
/** Size of a value of another stack: the name of a table, or an ARN. */
const VALUE_BYTES = 110;
/** Size of the account, the region or a suffix. */
const PSEUDO_BYTES = 16;

/** Refuses a function whose environment Lambda would refuse at deployment, because its settings are too long. */
export function refuseLargeEnvironment({ node }: Function): void {
  const resource = node.defaultChild;
  if (!(resource instanceof CfnFunction)) throw new Error(`${node.path} is not a function of this app`);
  node.addValidation({
    validate: () => {
      const stack = Stack.of(resource);
      const { variables = {} } = (stack.resolve(resource.environment) ?? {}) as {
        readonly variables?: Readonly<Record<string, unknown>>;
      };
      const sizes = Object.entries(variables).map(
        ([name, value]) => [name, name.length + sizeOf(value, stack.stackName.length)] as const,
      );
      const bytes = sizes.reduce((sum, [, size]) => sum + size, 0);
      if (bytes <= MAX_BYTES) return [];
      const largest = sizes.toSorted(([, one], [, other]) => other - one).slice(0, 2);
      const named = largest.map(([name, size]) => `${name} (${size})`).join(' and ');
      return [
        `its environment has about ${bytes} bytes, but Lambda allows ${MAX_BYTES}: shorten the settings in ${named}`,
      ];
    },
  });
}

/** The size of a value on AWS, or a little more. */
function sizeOf(value: unknown, stackName: number): number {
  if (typeof value === 'string') return Buffer.byteLength(value);
  if (Array.isArray(value)) return value.reduce<number>((sum, part) => sum + sizeOf(part, stackName), 0);
  const [[kind, of] = ['', undefined]] = Object.entries(value ?? {});
  const nameOf = (id: string): number => Math.min(NAME_BYTES, stackName + id.length + SUFFIX_BYTES);
  if (kind === 'Fn::Join') return sizeOf((of as readonly unknown[])[1], stackName);
  if (kind === 'Ref') return String(of).startsWith('AWS::') ? PSEUDO_BYTES : ADDRESS_BYTES + nameOf(String(of));
  if (kind !== 'Fn::GetAtt') return VALUE_BYTES;
  const [id = '', attribute] = of as readonly string[];
  return nameOf(id) + (attribute === 'Arn' ? ADDRESS_BYTES : 0);
}
