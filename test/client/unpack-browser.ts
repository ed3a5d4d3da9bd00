import chromium from '@sparticuz/chromium';

// A program of its own, because the package unpacks to the temporary folder of its process.
await chromium.executablePath();
