import { address, email, PREFIX, whole } from './rules.ts';

/** The settings of the parties of orders. */
export interface PartySettings {
  /**
   * Base URL of the shop with the stock and referrals for orders (lambdas/kernel/contract/shop-api.ts), without the sandbox.
   * @default the sandbox's; without the sandbox, there is no orders API
   */
  readonly shopUrl?: string;
  /** The sender of the e-mails of orders: an address that is verified at Postmark; required with `shopUrl`. @default the sandbox's */
  readonly emailSender?: string;
  /** E-mails that one recipient gets from one tenant in one mode on one day (UTC), 1 to 999. More are not sent. @default 20 */
  readonly emailsPerRecipient: number;
}

export const PARTY_RULES = {
  shopUrl: address(),
  emailSender: email(),
  emailsPerRecipient: whole(1, 999),
};

export const PARTY_DEFAULTS = { emailsPerRecipient: 20 };

/** Orders have all of their parties, or there is no orders API. */
export function refusePartyConflicts({
  sandbox,
  shopUrl,
  emailSender,
}: PartySettings & { readonly sandbox: boolean }): void {
  for (const [name, given] of Object.entries({ shopUrl, emailSender })) {
    if (sandbox && given !== undefined) {
      throw new Error(`${PREFIX}${name} is ${given}, but the sandbox is enabled and simulates the parties of orders`);
    }
  }
  if (shopUrl !== undefined && emailSender === undefined) {
    throw new Error(
      `${PREFIX}shopUrl is ${shopUrl}, so ${PREFIX}emailSender must be ${PARTY_RULES.emailSender.allowed}`,
    );
  }
  if (emailSender !== undefined && shopUrl === undefined) {
    throw new Error(
      `${PREFIX}emailSender is ${emailSender}, so ${PREFIX}shopUrl must be ${PARTY_RULES.shopUrl.allowed}`,
    );
  }
}
