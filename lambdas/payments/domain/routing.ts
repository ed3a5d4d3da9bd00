import type { RoutingRule } from '../../kernel/contract/environment.ts';
import type { TenantId } from '../../kernel/ids.ts';

/** The processor of a new payment, by the first matching rule. An existing payment stays at its processor. */
export function routeTo(
  rules: readonly RoutingRule[],
  payment: { readonly tenantId: TenantId; readonly currency: string },
  otherwise: string,
): string {
  const fits = ({ tenant, currency }: RoutingRule): boolean =>
    (tenant === undefined || tenant === payment.tenantId) && (currency === undefined || currency === payment.currency);
  return rules.find(fits)?.processor ?? otherwise;
}
