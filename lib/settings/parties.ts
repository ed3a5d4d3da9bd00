import * as z from 'zod';
import { address, matching, PREFIX, whole } from './rules.ts';

/** The settings of the external services for orders. */
export interface PartySettings {
  /**
   * Base URL of the shop's API for stock and referral credits (lambdas/orders/parties/shop-api.ts). Allowed only
   * without the sandbox.
   * @default the sandbox simulates the shop; without the sandbox, there is an orders API only if `shop`
   * is `bigcommerce`
   */
  readonly shopUrl?: string;
  /**
   * The kind of shop. With `bigcommerce`, the stock is the inventory of a BigCommerce store, and there are no referral
   * credits.
   * @default own: a service at `shopUrl`
   */
  readonly shop?: Shop;
  /** The hash of the BigCommerce store; required with `shop: bigcommerce`. @default none */
  readonly bigcommerceStore?: string;
  /**
   * The location in the BigCommerce store whose inventory is adjusted, 1 to 999999999.
   * @default 1
   */
  readonly bigcommerceLocation?: number;
  /**
   * The sender address of order e-mails, verified at Postmark. Required with `shopUrl` and with `shop: bigcommerce`.
   * @default a fixed address with the sandbox; otherwise none
   */
  readonly emailSender?: string;
  /**
   * Maximum number of e-mails to one recipient per tenant, mode and day (UTC), 1 to 999. Further e-mails are not sent.
   * @default 20
   */
  readonly emailsPerRecipient: number;
}

const SHOPS = ['own', 'bigcommerce'] as const;
type Shop = (typeof SHOPS)[number];

export const PARTY_RULES = {
  shopUrl: address(),
  shop: {
    allowed: SHOPS.join(' or '),
    read: (given: unknown) => SHOPS.find((each) => each === given),
  },
  bigcommerceStore: { allowed: '1 to 30 lower-case letters and digits', read: matching(/^[a-z0-9]{1,30}$/) },
  bigcommerceLocation: whole(1, 999_999_999),
  emailSender: {
    allowed: "an e-mail address of ASCII letters, digits and the characters . _ ' + -",
    // The pattern of `z.email`, with which the functions check the address.
    read: matching(z.regexes.email),
  },
  emailsPerRecipient: whole(1, 999),
};

export const PARTY_DEFAULTS = { emailsPerRecipient: 20 };

/**
 * Returns the API address of the BigCommerce store.
 * @returns undefined when the shop is not a BigCommerce store
 */
export function bigcommerceUrl({ shop, bigcommerceStore }: PartySettings): string | undefined {
  return shop === 'bigcommerce' ? `https://api.bigcommerce.com/stores/${bigcommerceStore}` : undefined;
}

/**
 * Refuses settings of the external services for orders that are incomplete, contradict each other, or are given with
 * the sandbox. Without the sandbox and without these settings, there is no orders API.
 */
export function refusePartyConflicts(settings: PartySettings & { readonly sandbox: boolean }): void {
  const { sandbox, shopUrl, shop, bigcommerceStore, bigcommerceLocation, emailSender } = settings;
  const isBigCommerce = shop === 'bigcommerce';
  const ofShop = { shopUrl, shop, bigcommerceStore, bigcommerceLocation };
  for (const [name, given] of Object.entries({ ...ofShop, emailSender })) {
    if (sandbox && given !== undefined) {
      throw new Error(
        `${PREFIX}${name} is ${given}, but the sandbox is enabled and simulates the shop and the e-mail service`,
      );
    }
  }
  for (const [name, given] of Object.entries({ bigcommerceStore, bigcommerceLocation })) {
    if (!isBigCommerce && given !== undefined)
      throw new Error(`${PREFIX}${name} is ${given}, so ${PREFIX}shop must be bigcommerce`);
  }
  if (isBigCommerce && shopUrl !== undefined)
    throw new Error(`${PREFIX}shopUrl is ${shopUrl}, but ${PREFIX}shop is bigcommerce: set only one of them`);
  if (isBigCommerce && bigcommerceStore === undefined) {
    throw new Error(
      `${PREFIX}shop is bigcommerce, so ${PREFIX}bigcommerceStore must be ${PARTY_RULES.bigcommerceStore.allowed}`,
    );
  }
  const [name, given] = isBigCommerce ? ['shop', shop] : ['shopUrl', shopUrl];
  if (given !== undefined && emailSender === undefined) {
    throw new Error(`${PREFIX}${name} is ${given}, so ${PREFIX}emailSender must be ${PARTY_RULES.emailSender.allowed}`);
  }
  if (emailSender !== undefined && given === undefined) {
    throw new Error(
      `${PREFIX}emailSender is ${emailSender}, so ${PREFIX}shopUrl must be ${PARTY_RULES.shopUrl.allowed}, or ${PREFIX}shop must be bigcommerce`,
    );
  }
}
