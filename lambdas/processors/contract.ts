import type { Processor, SourceForm } from '../payments/use/processor.ts';

/**
 * What a processor is, without any of its code: what synthesis makes settings, secrets, environment variables, permissions and
 * callback sources from, and what the functions read them back with. Each processor has one, in its folder.
 */
export interface ProcessorContract {
  /** As payments carry it, and as its callbacks are addressed: `POST /callbacks/<name>`. Lower-case letters, digits, dashes. */
  readonly name: string;
  /** What a deployment chooses for it. A processor is called where its settings are given, the first of the registry always. */
  readonly settings: Readonly<Record<string, ProcessorSetting>>;
  /** What its client needs and no template may hold; put in by the owner of the account. */
  readonly secrets: Readonly<Record<string, ProcessorSecretSetting>>;
  readonly callbacks: ProcessorCallbacks;
  /** What it can do, as data: the engine asks here, and never by name. */
  readonly abilities: Processor['abilities'];
  /** What a new payment may name as its `source` when it goes there, of all that the API takes. */
  readonly source: SourceForm;
  /**
   * The setting under which this processor is a stack of ours, which then gives its settings and signs in the processor's own way.
   *
   * @default it is somewhere else
   */
  readonly deployedBy?: 'sandbox';
}

export interface ProcessorSetting {
  /** Its name in CDK context, after `payonce:`. */
  readonly context: string;
  /** The environment variable in which the functions find it. */
  readonly variable: string;
  readonly form: SettingForm;
  /** @default the processor cannot be called without it */
  readonly optional?: true;
}

type SettingForm =
  /** Without a trailing slash. A deployment gives https; a function takes http too, which the local AWS speaks. */
  'address' | { readonly pattern: RegExp; readonly allowed: string };

interface ProcessorSecretSetting extends SecretConstruct {
  /** The environment variable that names the secret to the functions. */
  readonly variable: string;
}

export interface SecretConstruct {
  /** The id of its construct in the data stack. It never changes: what the owner put in would be lost. */
  readonly construct: string;
  readonly description: string;
}

interface ProcessorCallbacks {
  /** The name of the scheme by which it signs: its own, or a general one. */
  readonly scheme: string;
  /** The setting, in CDK context after `payonce:`, that says by which other scheme it signs. @default there is none */
  readonly schemeSetting?: string;
  /** What it signs with. */
  readonly secret: SecretConstruct;
}

/** A processor that may call back: at `POST /callbacks/<name>`. */
export interface CallbackSource {
  /** The processor's name, as payments carry it. */
  readonly name: string;
  /** How it signs. */
  readonly scheme: string;
  /**
   * The secret in Secrets Manager: a JSON object each of whose values is an active secret, whatever its name, or one
   * secret as plain text. To rotate, add the new one, switch the processor over, remove the old one.
   */
  readonly secretId: string;
}

/** Schemes that belong to no processor; every processor may sign by one of them. */
export const GENERAL_SCHEMES = ['standard-webhooks'] as const;

/** All schemes by which some processor may sign. */
export function schemeNames(processors: readonly ProcessorContract[]): readonly string[] {
  return [...new Set([...processors.map(({ callbacks }) => callbacks.scheme), ...GENERAL_SCHEMES])];
}

/** Where it calls back, below the address of the API. */
export function callbackPath({ name }: Pick<ProcessorContract, 'name'>): string {
  return `/callbacks/${name}`;
}
