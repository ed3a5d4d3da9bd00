import type { Mode } from '../kernel/ids.ts';
import type { Processor, SourceForm } from '../payments/use/processor.ts';

/**
 * The declaration of a processor, without its code. CDK synthesis derives settings, secrets, environment variables,
 * permissions and callback sources from the contract; the functions use the contract to read their environment. The
 * file contract.ts in each processor's folder declares the contracts.
 */
export interface ProcessorContract {
  /**
   * The processor's name in lower-case letters, digits and dashes. It is stored in each payment and is part of the
   * callback path `POST /callbacks/<name>/<mode>`.
   */
  readonly name: string;
  /** The supported modes. Each mode has its own settings, secrets and callbacks. */
  readonly modes: readonly Mode[];
  /** Settings per deployment and mode. A deployment uses a processor in every mode for which it has settings. */
  readonly settings: Readonly<Record<string, ProcessorSetting>>;
  /**
   * Secrets that the processor's client needs. Their values are in Secrets Manager, generated or set by the operator;
   * no template contains them.
   */
  readonly secrets: Readonly<Record<string, ProcessorSecretSetting>>;
  readonly callbacks: ProcessorCallbacks;
  /** Payonce's decisions depend on these values, never on the processor's name. */
  readonly abilities: Processor['abilities'];
  /** Format of `source` that the processor accepts for a new payment, a subset of what the API accepts. */
  readonly source: SourceForm;
  /**
   * The CDK setting that enables the processor's stack, if Payonce itself deploys this processor. The stack then
   * provides the processor's settings, so the deployment's settings do not contain them.
   *
   * @default the processor is an external system
   */
  readonly deployedBy?: 'sandbox';
}

export interface ProcessorSetting {
  /**
   * Live-mode name of the setting in the CDK context, without the prefix `payonce:`.
   * @see inMode
   */
  readonly context: string;
  /**
   * Name of the functions' environment variable for live mode.
   * @see inMode
   */
  readonly variable: string;
  readonly form: SettingForm;
  /**
   * True if the processor works without the setting.
   * @default the setting is required
   */
  readonly optional?: true;
}

type SettingForm =
  /**
   * A URL without a trailing slash. Deployments require https; a function also accepts http, because the local AWS
   * emulator uses http. Deployments refuse a query in an `address`, because paths are appended to it; a `page` may have
   * a query.
   */
  'address' | 'page' | { readonly pattern: RegExp; readonly allowed: string };

interface ProcessorSecretSetting {
  /**
   * Construct id in the data stack, for live mode. Never change this id: CloudFormation would replace the secret, and
   * its value would be lost.
   */
  readonly construct: string;
  readonly description: string;
  /**
   * Name of the functions' environment variable for live mode. It contains the secret's id.
   * @see inMode
   */
  readonly variable: string;
  /**
   * True if the processor issues the secret. The secret is then empty until the operator sets it.
   * @default the secret's value is generated
   */
  readonly issued?: true;
}

interface ProcessorCallbacks {
  /** The name of the signature scheme: the processor's own, or a general scheme. */
  readonly scheme: string;
  /**
   * Name of the setting that selects a different scheme, as in the CDK context but without the prefix `payonce:`.
   * @default the scheme is fixed
   */
  readonly schemeSetting?: string;
  /** The construct id of the signing secret, as in {@link ProcessorSecretSetting}. */
  readonly secret: string;
  /** True if the processor issues the secret, as in {@link ProcessorSecretSetting}. */
  readonly issued?: true;
}

/** A processor, in one mode, that may send callbacks to `POST /callbacks/<name>/<mode>`. */
export interface CallbackSource {
  /** The processor's name, as stored in payments. */
  readonly name: string;
  readonly mode: Mode;
  readonly scheme: string;
  /**
   * Id of the secret in Secrets Manager. Its value is one secret as plain text, or a JSON object. All values of the
   * object are active secrets; its property names are ignored. To rotate: add the new secret, make the processor use
   * it, remove the old one.
   */
  readonly secretId: string;
}

/** Signature schemes that belong to no processor. Every processor may use them. */
export const GENERAL_SCHEMES = ['standard-webhooks'] as const;

export function schemeNames(processors: readonly ProcessorContract[]): readonly string[] {
  return [...new Set([...processors.map(({ callbacks }) => callbacks.scheme), ...GENERAL_SCHEMES])];
}

/** Returns the path of the processor's callbacks in a mode, relative to the API's base URL. */
export function callbackPath({ name }: Pick<ProcessorContract, 'name'>, mode: Mode): string {
  return `/callbacks/${name}/${mode}`;
}

/**
 * A contract contains the names for live mode. In test mode they get the prefix `test`: `testStripeAccount`,
 * `TEST_STRIPE_ACCOUNT`, `TestStripeKey`.
 */
export function inMode(name: string, mode: Mode): string {
  if (mode === 'live') return name;
  if (/^[A-Z0-9_]+$/.test(name)) return `TEST_${name}`;
  const isLower = /^[a-z]/.test(name);
  return `${isLower ? 'test' : 'Test'}${name.slice(0, 1).toUpperCase()}${name.slice(1)}`;
}
