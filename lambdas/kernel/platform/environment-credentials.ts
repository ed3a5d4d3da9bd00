import { fromEnv } from '@aws-sdk/credential-provider-env';

/**
 * Stands in, when the functions are bundled, for the SDK's search for credentials in files, processes, token services and
 * instance metadata: Lambda always hands them over in the environment (AWS Lambda developer guide, "Defined runtime
 * environment variables").
 */
export const defaultProvider = fromEnv;
