import chromium from '@sparticuz/chromium';

// A separate program, because the package unpacks to the temporary folder of the process that loads it.
await chromium.executablePath();
