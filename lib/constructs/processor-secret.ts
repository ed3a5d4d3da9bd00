import { RemovalPolicy, Validations } from 'aws-cdk-lib';
import { type IGrantable, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { type CfnSecret, Secret } from 'aws-cdk-lib/aws-secretsmanager';
import type { Construct } from 'constructs';

/** Letters and digits: 190 bits. */
const SECRET_LETTERS = 32;

export interface ProcessorSecretProps {
  readonly description: string;
  /** Keep the secret when its stack goes. */
  readonly retain: boolean;
}

/**
 * A secret that we share with a processor: a JSON object, each of whose values is active, whatever its name. One is made
 * here; where the processor gives out its own, it takes this one's place.
 */
export class ProcessorSecret extends Secret {
  constructor(scope: Construct, id: string, props: ProcessorSecretProps) {
    super(scope, id, {
      description: props.description,
      generateSecretString: {
        secretStringTemplate: '{}',
        generateStringKey: 'current',
        excludePunctuation: true,
        passwordLength: SECRET_LETTERS,
      },
      removalPolicy: props.retain ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY,
    });
    Validations.of(this).acknowledge(
      {
        id: 'AwsSolutions::AwsSolutions-SMG4',
        reason: 'The processor gives the secret out and changes it: both are active until it has switched over.',
      },
      {
        id: 'PCI.DSS.321::PCI.DSS.321-SecretsManagerUsingKMSKey',
        reason: 'It is encrypted under the account’s key for Secrets Manager, and it is no card data.',
      },
    );
  }

  /** By the attribute that is the ARN on whatever deploys the template (AWS: "AWS::SecretsManager::Secret", return values). */
  get arn(): string {
    return (this.node.defaultChild as CfnSecret).attrId;
  }

  /** Lets a function read it, and nothing else. */
  grantReadTo({ grantPrincipal }: IGrantable): void {
    grantPrincipal.addToPrincipalPolicy(
      new PolicyStatement({ actions: ['secretsmanager:GetSecretValue'], resources: [this.arn] }),
    );
  }
}
