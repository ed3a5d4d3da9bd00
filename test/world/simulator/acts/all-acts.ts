import type { Act } from './act.ts';
import { APPROVAL_ACTS } from './approvals.ts';
import { BANK_ACTS } from './bank.ts';
import { CLIENT_ACTS } from './clients.ts';
import { DASHBOARD_ACTS } from './dashboard.ts';
import { MERCHANT_ACTS } from './merchants.ts';
import { MISHAP_ACTS } from './mishaps.ts';
import { OPERATOR_CHANGE_ACTS } from './operator-changes.ts';
import { OPERATOR_ACTS } from './operators.ts';
import { REQUEST_ACTS } from './requests.ts';
import { TOOL_ACTS } from './tools.ts';
import { UNKNOWN_CHARGES_ACTS } from './unknown-charges.ts';
import { WORLD_ACTS } from './world.ts';

export const ACTS: readonly Act[] = [
  ...CLIENT_ACTS,
  ...MERCHANT_ACTS,
  ...BANK_ACTS,
  ...DASHBOARD_ACTS,
  ...OPERATOR_ACTS,
  ...APPROVAL_ACTS,
  ...WORLD_ACTS,
  ...REQUEST_ACTS,
  ...MISHAP_ACTS,
  ...TOOL_ACTS,
  ...UNKNOWN_CHARGES_ACTS,
  ...OPERATOR_CHANGE_ACTS,
];

const BY_NAME: ReadonlyMap<string, Act> = new Map(ACTS.map((each) => [each.name, each]));

export function actNamed(name: string): Act {
  const found = BY_NAME.get(name);
  if (found === undefined) throw new Error(`unknown act: ${name}`);
  return found;
}
