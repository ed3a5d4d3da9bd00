import { App, Validations } from 'aws-cdk-lib';
import { AwsSolutionsChecks, PCIDSS321Checks, ServerlessChecks } from 'cdk-nag';
import { PayonceRules } from '../lib/policies/payonce-rules.ts';
import { buildStacks } from '../lib/stacks.ts';

const app = new App();
buildStacks(app);
Validations.of(app).addPlugins(
  new AwsSolutionsChecks(app),
  new ServerlessChecks(app),
  new PCIDSS321Checks(app),
  new PayonceRules(),
);
