import { RemovalPolicy, Validations } from 'aws-cdk-lib';
import { type IGrantable, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { type CfnSecret, Secret } from 'aws-cdk-lib/aws-secretsmanager';
import type { Construct } from 'constructs';

/** Number of generated letters and digits (190 bits). */
const SECRET_LETTERS = 32;

export interface ProcessorSecretProps {
  readonly description: string;
  readonly retain: boolean;
  /**
   * An issued secret has no value until the operator sets one.
   * @default a value is generated
   */
  readonly issued?: boolean;
}

/**
 * A secret for signing, hashing or authentication, for example the signing key of a processor's callbacks. It is a JSON
 * object in which every value is active. Warning: a change to how values are generated makes CloudFormation regenerate
 * every value.
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
      removalPolicy: props.retain ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY,
    });
    // Without a text and a generation rule, Secrets Manager creates a secret that has no value
    // (AWS::SecretsManager::Secret).
    if (props.issued === true) (this.node.defaultChild as CfnSecret).generateSecretString = undefined;
    Validations.of(this).acknowledge(
      {
        id: 'AwsSolutions::AwsSolutions-SMG4',
        reason: 'An operator rotates the secret. The old and the new value are active during a rotation.',
      },
      {
        id: 'PCI.DSS.321::PCI.DSS.321-SecretsManagerUsingKMSKey',
        reason: 'The secret is encrypted with the AWS managed key of Secrets Manager and contains no card data.',
      },
    );
  }

  /**
   * Returns the ARN through `Ref`, which the local AWS emulator also supports (AWS: "AWS::SecretsManager::Secret",
   * return values).
   */
  get arn(): string {
    return (this.node.defaultChild as CfnSecret).attrId;
  }

  grantReadTo({ grantPrincipal }: IGrantable): void {
    grantPrincipal.addToPrincipalPolicy(
      new PolicyStatement({ actions: ['secretsmanager:GetSecretValue'], resources: [this.arn] }),
    );
  }
}
