import chromium from '@sparticuz/chromium';

// A separate program, because the package unpacks to the temporary folder of its process.
await chromium.executablePath();
