import { Stack } from 'aws-cdk-lib';
import { CfnFunction, type Function } from 'aws-cdk-lib/aws-lambda';

/**
 * Lambda's quota for the environment of a function, in bytes (AWS Lambda developer guide, "Lambda quotas"). Lambda
 * measures the JSON object of names and values, and escapes each quotation mark in a value.
 */
const MAX_BYTES = 4_096;
/** Bytes of a variable in the JSON object, in addition to its name and value: four quotation marks, a colon, a comma. */
const VARIABLE_BYTES = 6;
/** Maximum length of a queue URL without the queue name, or of an ARN without the resource name. */
const ADDRESS_BYTES = 60;
/** Length of the suffix that CloudFormation appends to the stack name and the logical id. */
const SUFFIX_BYTES = 14;
/** Maximum length of an SQS queue name. No other kind of generated name has a higher limit. */
const NAME_BYTES = 80;
/** Estimated size of an address from another stack, in bytes. */
const VALUE_BYTES = 110;
/** Estimated size of an account id, a region or a URL suffix, in bytes. */
const PSEUDO_BYTES = 16;

/** Lambda would reject a larger environment only during the deployment. */
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
        ([name, value]) => [name, name.length + VARIABLE_BYTES + sizeOf(value, stack.stackName.length)] as const,
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

/** The estimate is too large rather than too small. */
function sizeOf(value: unknown, stackName: number): number {
  if (typeof value === 'string') return Buffer.byteLength(JSON.stringify(value).slice(1, -1));
  if (Array.isArray(value)) return value.reduce<number>((sum, part) => sum + sizeOf(part, stackName), 0);
  const [[kind, of] = ['', undefined]] = Object.entries(value ?? {});
  const nameOf = (id: string): number => Math.min(NAME_BYTES, stackName + id.length + SUFFIX_BYTES);
  if (kind === 'Fn::Join') return sizeOf((of as readonly unknown[])[1], stackName);
  if (kind === 'Ref') return String(of).startsWith('AWS::') ? PSEUDO_BYTES : ADDRESS_BYTES + nameOf(String(of));
  if (kind === 'Fn::GetStackOutput') return sizeOfOutput(of as StackOutput);
  if (kind !== 'Fn::GetAtt') return VALUE_BYTES;
  const [id = '', attribute] = of as readonly string[];
  return nameOf(id) + (attribute === 'Arn' ? ADDRESS_BYTES : 0);
}

interface StackOutput {
  readonly StackName: string;
  readonly OutputName: string;
}

/**
 * A `Ref` is usually a name that CloudFormation generates from the stack name, the resource id and a suffix. The name
 * of its output is longer than the id and the suffix together, so the estimate is the stack name plus the output name.
 * The `Ref` of a queue is a URL. For this URL and all other values, the estimate is fixed.
 */
function sizeOfOutput({ StackName, OutputName }: StackOutput): number {
  return /^PublishOutputRef(?!DeadLetters)/.test(OutputName) ? StackName.length + OutputName.length : VALUE_BYTES;
}
