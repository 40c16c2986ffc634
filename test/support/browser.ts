/**
 * Chromium for the tests of pages. The package unpacks it into the temporary folder under a fixed name, so that a second
 * process could execute a file that the first still writes. `npm test` unpacks it once, before the files start, into a
 * folder of that run (`global.ts`). A file that runs alone unpacks its own.
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test as nodeTest } from 'node:test'
import { promisify } from 'node:util'
import chromium from '@sparticuz/chromium'
import { type Browser, chromium as playwright } from 'playwright-core'

/** The reason why a test of pages is skipped. The package contains a binary for Linux on x64 only. */
export const noBrowser = process.platform !== 'linux' || process.arch !== 'x64' ? 'no browser for this platform' : false

/** Declares a test of pages. */
export const test = (title: string, run: () => Promise<void>): void => void nodeTest(title, { skip: noBrowser }, run)

const PROGRAM_VARIABLE = 'TEST_BROWSER_PROGRAM'

/**
 * Web security is what the policy is about. A single process would end with its first page. WebGL in software draws each frame of a page
 * that shows none for three times the processor time of a test.
 */
const unwanted =
  /^--(?:disable-web-security|single-process|no-zygote|in-process-gpu|ignore-gpu-blocklist|enable-unsafe-swiftshader|use-(?:gl|angle)=.*)$/

const unpack = async (): Promise<string> => {
  const folder = mkdtempSync(join(tmpdir(), 'partner-payments-browser-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const program = `await (await import(${JSON.stringify(import.meta.resolve('@sparticuz/chromium'))})).default.executablePath()`
  // The package takes its folder from the environment. Another process, because this one keeps its temporary folder.
  await promisify(execFile)(process.execPath, ['--eval', program], { env: { ...process.env, TMPDIR: folder } })
  return join(folder, 'chromium')
}

/** Unpacks the browser for the files of this run, if the platform has one. */
export const prepareBrowser = async (): Promise<void> => {
  if (noBrowser === false) process.env[PROGRAM_VARIABLE] = await unpack()
}

export const launchBrowser = async (): Promise<Browser> =>
  playwright.launch({
    args: [...chromium.args.filter((flag) => !unwanted.test(flag)), '--disable-gpu'],
    executablePath: process.env[PROGRAM_VARIABLE] ?? (await unpack()),
    headless: true,
  })
