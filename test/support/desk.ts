/** People of staff in a real browser at the desk. */
import assert from 'node:assert/strict'
import type { Browser, Page } from 'playwright-core'
import { textAt } from './client.ts'
import { addAuthenticator, check, openPage } from './console.ts'
import type { TestService } from './service.ts'

export type DeskOfTest = {
  readonly service: TestService
  readonly browser: Browser
  readonly site: string
  /** The options by which commands act for an admin. Empty while there is none. */
  readonly as: readonly string[]
}

/** Invites a person by the command, who joins with a passkey and is at the queue. `expected`: texts of failures that the test causes. */
export async function joinDesk(
  { service, browser, site, as }: DeskOfTest,
  name: string,
  role: string,
  expected: readonly string[] = [],
) {
  const email = `${name.toLowerCase()}@example.com`
  const printed = await service.operator('staff', 'invite', '--email', email, '--name', name, '--role', role, ...as)
  const opened = await openPage(browser, site, {}, expected)
  await addAuthenticator(opened.context, opened.page)
  const link = textAt(printed, 'link')
  assert.ok(link.startsWith(`${site}/desk/join?token=`), link)
  await opened.page.goto(link)
  await check(opened.page)
  await opened.page.getByRole('button', { name: 'Create passkey and join' }).click()
  await opened.page.waitForURL(`${site}/desk/queue`)
  return opened
}

/** Checks a page in both schemes, narrow and wide. */
export async function checkForms(page: Page): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const)
    for (const width of [360, 1280]) {
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize({ width, height: 800 })
      await check(page)
      assert.equal(await page.evaluate('document.documentElement.scrollWidth > innerWidth'), false, `${width}`)
    }
}
