import { App } from 'aws-cdk-lib';
import { applyRulePacks } from '../lib/policies/rule-packs.ts';
import { buildStacks } from '../lib/stacks.ts';

const app = new App();
buildStacks(app);
applyRulePacks(app);
