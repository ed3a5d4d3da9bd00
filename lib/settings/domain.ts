import { matching, PREFIX } from './rules.ts';

export interface DomainSettings {
  /**
   * A custom domain name of the API, for example `pay.shop.example`. The address that AWS assigns remains available.
   * The domain belongs to the data stack, so its DNS record stays valid when the service stack is recreated.
   * @default none
   */
  readonly domainName?: string;
  /** The ARN of the domain's certificate in AWS Certificate Manager, in the region of the stacks; required with `domainName`. */
  readonly certificateArn?: string;
  /**
   * The first path segment under the domain.
   * @default the API is at the root of the domain
   */
  readonly basePath?: string;
}

export const DOMAIN_RULES = {
  domainName: {
    allowed: 'a domain name in lower case, without a wildcard',
    read: matching(/^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/),
  },
  certificateArn: {
    allowed: 'the ARN of a certificate in AWS Certificate Manager',
    read: matching(/^arn:aws[a-z-]*:acm:[a-z0-9-]+:\d{12}:certificate\/[a-zA-Z0-9-]+$/),
  },
  basePath: { allowed: 'one segment of letters, digits, - and _', read: matching(/^[A-Za-z0-9_-]{1,64}$/) },
};

/**
 * Refuses domain settings that contradict each other.
 * @throws Error naming the settings
 */
export function refuseDomainConflicts({ domainName, certificateArn, basePath }: DomainSettings): void {
  if (domainName !== undefined && certificateArn === undefined) {
    throw new Error(
      `${PREFIX}domainName is ${domainName}, so ${PREFIX}certificateArn must be ${DOMAIN_RULES.certificateArn.allowed}`,
    );
  }
  for (const [name, given] of Object.entries({ certificateArn, basePath })) {
    if (domainName !== undefined || given === undefined) continue;
    throw new Error(`${PREFIX}${name} is ${given}, so ${PREFIX}domainName must be ${DOMAIN_RULES.domainName.allowed}`);
  }
}
