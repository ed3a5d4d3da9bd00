import { Stack, Validations } from 'aws-cdk-lib';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';

/** Only schedules of this account can use the role (EventBridge Scheduler user guide, "Confused deputy prevention"). */
export function schedulerRole(scope: Construct): Role {
  const ours = { StringEquals: { 'aws:SourceAccount': Stack.of(scope).account } };
  const assumedBy = new ServicePrincipal('scheduler.amazonaws.com', { conditions: ours });
  const role = new Role(scope, 'Role', { assumedBy });
  Validations.of(role).acknowledge({
    id: 'PCI.DSS.321::PCI.DSS.321-IAMNoInlinePolicy',
    reason: 'The role has an inline policy: a managed policy could be attached elsewhere or changed separately.',
  });
  return role;
}
