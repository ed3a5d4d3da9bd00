import type { Mode } from '../kernel/ids.ts';
import type { Processor, SourceForm } from '../payments/use/processor.ts';

/**
 * The declaration of a processor, without its code. CDK synthesis derives settings, secrets, environment variables,
 * permissions and callback sources from the contract; the functions use the contract to read their environment. Each
 * processor's folder has one contract.
 */
export interface ProcessorContract {
  /**
   * The processor's name, stored in each payment and part of the callback path `POST /callbacks/<name>/<mode>`.
   * Lower-case letters, digits, dashes.
   */
  readonly name: string;
  /** The modes in which the processor can be called. Each mode has its own settings, secrets and callbacks. */
  readonly modes: readonly Mode[];
  /** Settings per deployment and mode. A deployment calls a processor in the modes whose settings it has. */
  readonly settings: Readonly<Record<string, ProcessorSetting>>;
  /**
   * Secrets that the processor's client needs. The operator sets the values in Secrets Manager; no template contains
   * them.
   */
  readonly secrets: Readonly<Record<string, ProcessorSecretSetting>>;
  readonly callbacks: ProcessorCallbacks;
  /** The abilities of the processor. Payonce decides by these values, never by the processor's name. */
  readonly abilities: Processor['abilities'];
  /**
   * The values of `source` that the processor accepts for a new payment, a subset of the values that the API accepts.
   */
  readonly source: SourceForm;
  /**
   * Set if Payonce deploys this processor as a stack of its own: the CDK setting that enables the stack. The stack then
   * provides the processor's settings, so the deployment does not have them.
   *
   * @default the processor is an external system
   */
  readonly deployedBy?: 'sandbox';
}

export interface ProcessorSetting {
  /** The name of the setting in CDK context, after `payonce:`, in live mode. @see inMode */
  readonly context: string;
  /** The functions' environment variable in live mode. @see inMode */
  readonly variable: string;
  readonly form: SettingForm;
  /** Whether the processor can be called without the setting. @default it cannot */
  readonly optional?: true;
}

type SettingForm =
  /** A URL without a trailing slash. Deployments require https; a function also accepts http, for the local AWS. */
  'address' | { readonly pattern: RegExp; readonly allowed: string };

interface ProcessorSecretSetting {
  /**
   * The construct id in the data stack, in live mode. It must never change: the secret would be replaced, and its value
   * lost.
   */
  readonly construct: string;
  readonly description: string;
  /** The functions' environment variable that holds the secret's id, in live mode. @see inMode */
  readonly variable: string;
  /**
   * Set when the processor issues the secret, which is then empty until the operator sets it.
   * @default its value is generated
   */
  readonly issued?: true;
}

interface ProcessorCallbacks {
  /** The name of the signature scheme: the processor's own, or a general scheme. */
  readonly scheme: string;
  /**
   * The name in CDK context, after `payonce:`, of the setting that selects a different scheme.
   * @default the scheme is fixed
   */
  readonly schemeSetting?: string;
  /** The construct id of the signing secret, as in {@link ProcessorSecretSetting}. */
  readonly secret: string;
  /** As in {@link ProcessorSecretSetting}. */
  readonly issued?: true;
}

/** A processor that may send callbacks to `POST /callbacks/<name>/<mode>`. */
export interface CallbackSource {
  /** The processor's name, as stored in payments. */
  readonly name: string;
  readonly mode: Mode;
  /** The name of its signature scheme. */
  readonly scheme: string;
  /**
   * The id of the secret in Secrets Manager. Its value is one secret as plain text, or a JSON object in which each
   * value is an active secret; the property names are not used. To rotate: add the new secret, switch the processor
   * over, remove the old one.
   */
  readonly secretId: string;
}

/** Signature schemes that belong to no processor, and that every processor may use. */
export const GENERAL_SCHEMES = ['standard-webhooks'] as const;

/** Lists the names of all signature schemes that a callback source may use. */
export function schemeNames(processors: readonly ProcessorContract[]): readonly string[] {
  return [...new Set([...processors.map(({ callbacks }) => callbacks.scheme), ...GENERAL_SCHEMES])];
}

/** Returns the path of the processor's callbacks in a mode, relative to the API's base URL. */
export function callbackPath({ name }: Pick<ProcessorContract, 'name'>, mode: Mode): string {
  return `/callbacks/${name}/${mode}`;
}

/**
 * Returns the name of a setting, an environment variable or a construct in a mode. The names in a contract are those of
 * live mode; in test mode, these names begin with `test`: `testStripeAccount`, `TEST_STRIPE_ACCOUNT`, `TestStripeKey`.
 */
export function inMode(name: string, mode: Mode): string {
  if (mode === 'live') return name;
  if (/^[A-Z0-9_]+$/.test(name)) return `TEST_${name}`;
  const isLower = /^[a-z]/.test(name);
  return `${isLower ? 'test' : 'Test'}${name.slice(0, 1).toUpperCase()}${name.slice(1)}`;
}
