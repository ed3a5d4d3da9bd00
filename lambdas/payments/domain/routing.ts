import type { RoutingRule } from '../../kernel/contract/environment.ts';
import type { TenantId } from '../../kernel/ids.ts';

/** The first rule that fits counts; a payment that is there stays where it was sent, whatever the rules say by then. */
export function routeTo(
  rules: readonly RoutingRule[],
  payment: { readonly tenantId: TenantId; readonly currency: string },
  otherwise: string,
): string {
  const fits = ({ tenant, currency }: RoutingRule): boolean =>
    (tenant === undefined || tenant === payment.tenantId) && (currency === undefined || currency === payment.currency);
  return rules.find(fits)?.processor ?? otherwise;
}
