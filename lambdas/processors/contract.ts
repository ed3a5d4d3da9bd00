import type { Processor, SourceForm } from '../payments/use/processor.ts';

/**
 * The declaration of a processor, without its code. Synthesis derives settings, secrets, environment variables, permissions and
 * callback sources from it; the functions read their environment by it. Each processor's folder has one.
 */
export interface ProcessorContract {
  /** Stored in each payment, and part of the callback path `POST /callbacks/<name>`. Lower-case letters, digits, dashes. */
  readonly name: string;
  /** Settings per deployment. A deployment calls the processors whose settings it has, and always the first of the registry. */
  readonly settings: Readonly<Record<string, ProcessorSetting>>;
  /** Secrets that its client needs. The operator sets the values in Secrets Manager; no template contains them. */
  readonly secrets: Readonly<Record<string, ProcessorSecretSetting>>;
  readonly callbacks: ProcessorCallbacks;
  /** What the processor can do. The engine decides by these values, never by the processor's name. */
  readonly abilities: Processor['abilities'];
  /** The values of `source` that the processor accepts for a new payment, a subset of those that the API accepts. */
  readonly source: SourceForm;
  /**
   * The setting by which Payonce deploys this processor as a stack of its own. The stack then provides the settings and signs
   * callbacks by the processor's own scheme.
   *
   * @default the processor is an external system
   */
  readonly deployedBy?: 'sandbox';
}

export interface ProcessorSetting {
  /** Its name in CDK context, after `payonce:`. */
  readonly context: string;
  /** The functions' environment variable. */
  readonly variable: string;
  readonly form: SettingForm;
  /** @default the processor cannot be called without it */
  readonly optional?: true;
}

type SettingForm =
  /** A URL without a trailing slash. Deployments require https; a function also accepts http, for the local AWS. */
  'address' | { readonly pattern: RegExp; readonly allowed: string };

interface ProcessorSecretSetting extends SecretConstruct {
  /** The functions' environment variable that holds the secret's id. */
  readonly variable: string;
}

export interface SecretConstruct {
  /** The construct id in the data stack. It must never change: the secret would be replaced, and its value lost. */
  readonly construct: string;
  readonly description: string;
}

interface ProcessorCallbacks {
  /** The name of the signature scheme: the processor's own, or a general one. */
  readonly scheme: string;
  /** The name in CDK context, after `payonce:`, of the setting that selects another scheme. @default the scheme is fixed */
  readonly schemeSetting?: string;
  /** The signing secret. */
  readonly secret: SecretConstruct;
}

/** A processor that may send callbacks to `POST /callbacks/<name>`. */
export interface CallbackSource {
  /** The processor's name, as stored in payments. */
  readonly name: string;
  /** The name of its signature scheme. */
  readonly scheme: string;
  /**
   * The id of the secret in Secrets Manager. Its value is one secret as plain text, or a JSON object in which each value is
   * an active secret; the property names are not used. To rotate: add the new secret, switch the processor over, remove the
   * old one.
   */
  readonly secretId: string;
}

/** Signature schemes that belong to no processor. Every processor may use one of them. */
export const GENERAL_SCHEMES = ['standard-webhooks'] as const;

/** The names of all signature schemes that a callback source may use. */
export function schemeNames(processors: readonly ProcessorContract[]): readonly string[] {
  return [...new Set([...processors.map(({ callbacks }) => callbacks.scheme), ...GENERAL_SCHEMES])];
}

/** The path of the processor's callbacks, relative to the API's base URL. */
export function callbackPath({ name }: Pick<ProcessorContract, 'name'>): string {
  return `/callbacks/${name}`;
}
