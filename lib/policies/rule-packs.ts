import { type App, Validations } from 'aws-cdk-lib';
import { AwsSolutionsChecks, PCIDSS321Checks, ServerlessChecks } from 'cdk-nag';
import { PayonceRules } from './payonce-rules.ts';

/** A violation makes the synthesis fail. */
export function applyRulePacks(app: App): void {
  Validations.of(app).addPlugins(
    new AwsSolutionsChecks(app),
    new ServerlessChecks(app),
    new PCIDSS321Checks(app),
    new PayonceRules(),
  );
}
