import chromium from '@sparticuz/chromium';

// The package unpacks to the temporary folder of the process that loads it.
await chromium.executablePath();
