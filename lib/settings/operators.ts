import { ROLES, type Role } from '../../lambdas/kernel/contract/api.ts';
import { isCurrency } from '../../lambdas/kernel/currency.ts';
import { matching, objectOf, PREFIX, readUrl, whole } from './rules.ts';

/** The settings of operators and of approvals by a second person. */
export interface OperatorSettings {
  /**
   * The https issuer address of the OpenID Connect provider whose tokens identify operators.
   * @default operators use keys
   */
  readonly operatorIssuer?: string;
  /** The audience of the operators' tokens; required with `operatorIssuer`. */
  readonly operatorAudience?: string;
  /**
   * The console's client id at the OpenID Connect provider.
   * @default the operator pastes a token into the console
   */
  readonly operatorClientId?: string;
  /**
   * The token claim that contains the operator's role, or a list with the role.
   * @default roles
   */
  readonly operatorRoleClaim: string;
  /**
   * Maps the values of the role claim to roles: a JSON object, for example with one entry per group of a company. A
   * value that is not listed gives no role.
   * @default the values of the claim are role names
   */
  readonly operatorRoles?: Readonly<Record<string, Role>>;
  /**
   * Amounts above which an operator's correction, decision, refund, capture or cancellation waits for a second person:
   * a JSON object that maps currencies to amounts in minor units, and `*` to the amount for all other currencies.
   * Without `*`, every amount in another currency waits.
   * @default nothing waits
   */
  readonly approvalAbove?: Readonly<Record<string, number>>;
  /** Time after which requests that wait for a second person expire, 1 to 720 hours. @default 72 */
  readonly approvalHours: number;
}

export const OPERATOR_RULES = {
  operatorIssuer: {
    allowed: 'an https address',
    read: (given: unknown) => readUrl(String(given).replace(/\/$/, '')) && String(given),
  },
  operatorAudience: { allowed: '1 to 200 characters without spaces', read: matching(/^\S{1,200}$/) },
  operatorClientId: { allowed: '1 to 200 characters without spaces', read: matching(/^\S{1,200}$/) },
  operatorRoleClaim: { allowed: 'the name of a claim', read: matching(/^\S{1,200}$/) },
  operatorRoles: {
    allowed: `a JSON object that maps values of the role claim to ${ROLES.join(', ').replace(/, (?=\w+$)/, ' or ')}`,
    read: readRoles,
  },
  approvalAbove: {
    allowed: 'a JSON object that maps currencies, or *, to amounts in minor units',
    read: readAmounts,
  },
  approvalHours: whole(1, 720),
};

export const OPERATOR_DEFAULTS = { operatorRoleClaim: 'roles', approvalHours: 72 };

/**
 * Refuses operator settings that contradict each other.
 * @throws Error naming the settings
 */
export function refuseOperatorConflicts(settings: OperatorSettings): void {
  const { operatorIssuer, operatorAudience } = settings;
  if ((operatorIssuer === undefined) !== (operatorAudience === undefined)) {
    throw new Error(`${PREFIX}operatorIssuer and ${PREFIX}operatorAudience must be given together or not at all`);
  }
  const needing = (['operatorRoles', 'operatorClientId'] as const).find((name) => settings[name] !== undefined);
  if (needing !== undefined && operatorIssuer === undefined) {
    throw new Error(
      `${PREFIX}${needing} is given, so ${PREFIX}operatorIssuer must be ${OPERATOR_RULES.operatorIssuer.allowed}`,
    );
  }
}

function readRoles(given: unknown): Readonly<Record<string, Role>> | undefined {
  return objectOf((value): value is Role => ROLES.some((role) => role === value))(given);
}

function readAmounts(given: unknown): Readonly<Record<string, number>> | undefined {
  const isAmount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;
  const amounts = objectOf(isAmount)(given);
  const names = Object.keys(amounts ?? {});
  return names.every((name) => name === '*' || isCurrency(name)) ? amounts : undefined;
}
