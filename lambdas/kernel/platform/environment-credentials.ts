import { fromEnv } from '@aws-sdk/credential-provider-env';

/**
 * Replaces, in the functions' bundles, the SDK's search for credentials in files, processes, token services and
 * instance metadata. Lambda always passes credentials in the environment (AWS Lambda developer guide, "Defined runtime
 * environment variables").
 */
export const defaultProvider = fromEnv;
