import type { OperatorName, SimulatedTenant } from './contract.ts';

export const OPERATORS: Readonly<Record<OperatorName, { readonly key: string; readonly operator: string }>> = {
  operator: { key: 'ok_operator-0123456789abcdef', operator: 'Ada Example' },
  operator_again: { key: 'ok_operator-of-the-same-person', operator: 'Ada Example' },
  approver: { key: 'ok_approver-0123456789abcdef', operator: 'Ben Example' },
};

export function tenantNamed(name: string, mode: SimulatedTenant['mode'] = 'test'): SimulatedTenant {
  return {
    tenantId: `ten_${name}`,
    mode,
    apiKey: `sk_${mode}_${name}-merchant-0123456789abcdef`,
  };
}
