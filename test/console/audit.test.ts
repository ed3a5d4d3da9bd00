import { expect, test } from '@jest/globals';
import { AuditedArchive, auditedArchive } from '../archive/audited-archive.ts';
import { Api } from '../world/api.ts';
import { accessible, describeConsole, tablesFit } from './console-in-browser.ts';

const VIEWER_KEY = 'ok_viewerviewerviewerviewer';
const SCRIPT = '<img src=x onerror=alert(1)>';
const NIGHT = 'Nightly: the previous day';
const OVERDUE = 'time[title="2026-03-02 02:00:00 UTC"]';

describeConsole('verifications of the archive in a browser', (shown) => {
  async function opened(archive?: AuditedArchive, laterMs = 0) {
    shown.api = new Api({ archive });
    shown.api.clock.advance(laterMs);
    shown.api.registerOperator(VIEWER_KEY, { operator: 'Vera Example', role: 'viewer' });
    const page = await shown.signedIn(VIEWER_KEY);
    await page.getByRole('list', { name: 'Administration' }).getByRole('link', { name: 'Audit' }).click();
    await page.getByRole('heading', { name: 'Audit', level: 1 }).waitFor();
    return page;
  }

  test('are shown to a viewer with their verdicts, the findings as plain text, the command and the manifests', async () => {
    const page = await opened(await auditedArchive({ kind: 'line_unreadable', object: 'ledger/1', because: SCRIPT }));
    const nights = page.getByRole('region', { name: NIGHT }).getByRole('row');
    await nights.nth(1).getByRole('cell', { name: 'holds', exact: true }).waitFor();
    await nights.nth(2).getByText('does not hold').waitFor();
    await nights.nth(2).getByText(`line_unreadable object=ledger/1 because=${SCRIPT}`).waitFor();
    // The range is the day before the first night, in Unix seconds.
    await nights.nth(2).getByText('payonce verify --from 1772150400 --to 1772236800').waitFor();
    expect(await page.getByRole('region', { name: 'Hourly' }).getByRole('row').count()).toBe(4);
    await page.getByRole('region', { name: 'At other times' }).getByText('the archive gave no answer').waitFor();
    const manifests = page.getByRole('region', { name: 'Manifests' }).getByRole('row');
    expect(await manifests.count()).toBe(4);
    const [newest, before] = await Promise.all(
      [1, 2].map((row) => manifests.nth(row).locator('code').allTextContents()),
    );
    expect(newest?.[1]).toBe(before?.[0]);
    await tablesFit(page);
    await page.setViewportSize({ width: 390, height: 800 });
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    await accessible(page);
    expect(shown.written).toEqual([]);
    expect(shown.violations).toEqual([]);
  });

  test('are shown as overdue, or as not yet due in a new archive', async () => {
    const overdue = await opened(await auditedArchive({ kind: 'row_missing' }), 24 * 3_600_000);
    await overdue.getByText('overdue since').locator(OVERDUE).waitFor();
    await overdue.getByText('No manifest was written for three hours.').waitFor();
    await accessible(overdue);
    await overdue.getByRole('link', { name: 'Overview', exact: true }).click();
    const notice = overdue.getByRole('region', { name: 'Overdue verifications' });
    await notice.getByText(`The verification “${NIGHT}” is overdue`).locator(OVERDUE).waitFor();
    await notice.getByText('No manifest was written for three hours.').waitFor();
    await accessible(overdue);
    await notice.getByRole('link', { name: 'Audit' }).click();
    await overdue.getByRole('heading', { name: 'Audit', level: 1 }).waitFor();
    const empty = await opened(new AuditedArchive());
    for (const none of ['No day was verified yet.', 'No slice was verified yet.', 'No manifest was written yet.'])
      await empty.getByText(none).waitFor();
    expect(await empty.getByText('overdue').count()).toBe(0);
  });

  test('are replaced by a notice if the deployment has no archive', async () => {
    const page = await opened();
    await page.getByText('This deployment has no archive').waitFor();
    expect(await page.getByRole('table').count()).toBe(0);
  });
});
