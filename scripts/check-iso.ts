/**
 * `npm run check:iso -- FOLDER [FILES...]` validates messages against schema files of ISO 20022 that an operator has: FOLDER/
 * pain.001.001.09.xsd and so on. Without FILES these are generated messages of every kind that the service writes. With FILES these are
 * the files, which are also read as the connector reads them. Exit status 1: a message is not valid, or none was checked.
 */
import { createReadStream, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import fc from 'fast-check'
import { MessageProblem, recogniseMessage, type ReportPart } from '../service/src/iso20022/index.ts'
import { messagesIn, schemaErrors } from '../test/support/iso-schemas.ts'
import { messages, readerOf } from './iso-documents.ts'

const samplesOfEach = 50
const errorsShown = 5
const [folder, ...files] = process.argv.slice(2)
if (folder === undefined || [folder, ...files].some((word) => word.startsWith('-'))) {
  console.error('usage: npm run check:iso -- FOLDER [FILES...]')
  process.exit(2)
}

type Document = { readonly title: string; readonly name: string; readonly xml: string }

/** The name of the message by its namespace: `pain.001.001.09`. */
const nameIn = (xml: string): string => /xsd:((?:pain|camt)\.\d{3}\.\d{3}\.\d{2})\b/.exec(xml)?.[1] ?? 'unknown'

const generated = (): readonly Document[] =>
  Object.values(messages).flatMap((arbitrary) =>
    fc
      .sample(arbitrary, { numRuns: samplesOfEach, seed: 1 })
      .map(({ name, xml }) => ({ title: 'generated', name, xml })),
  )
const given = (): readonly Document[] =>
  files.map((path) => {
    const xml = readFileSync(path, 'utf8')
    return { title: basename(path), name: nameIn(xml), xml }
  })

/** Reads a file as the connector does, and prints its kind. */
async function readFileOf(path: string): Promise<boolean> {
  try {
    const read = readerOf((await recogniseMessage(createReadStream(path)))?.kind)
    const unread = entryProblems(await read?.(createReadStream(path)))
    console.log(`${basename(path)}: ${read ? 'was read' : 'is not a known message'}`)
    for (const problem of unread) console.log(`  an entry cannot be read, and waits alone: ${problem}`)
    return read !== undefined && unread.length === 0
  } catch (error) {
    if (!(error instanceof MessageProblem)) throw error
    console.log(`${basename(path)}: ${error.code}: ${error.message} (${error.path}, line ${error.line})`)
    return false
  }
}

/** Lists the problems of entries in an account report that could not be read. */
const entryProblems = (read: unknown): readonly string[] =>
  (Array.isArray(read) ? (read as readonly ReportPart[]) : []).flatMap((part) =>
    part.kind === 'entry' && part.entry.problem !== undefined ? [part.entry.problem] : [],
  )

let isRight = true
for (const path of files) isRight = (await readFileOf(path)) && isRight
const documents = files.length === 0 ? generated() : given()
const present = new Set(messagesIn(folder))
let checked = 0
for (const name of [...new Set(documents.map((document) => document.name))].toSorted()) {
  const some = documents.filter((document) => document.name === name)
  if (!present.has(name)) {
    console.log(`${name}: no schema ${name}.xsd in the folder; ${some.length} not checked`)
    continue
  }
  const errors = await schemaErrors(
    name,
    some.map(({ xml }) => xml),
    folder,
    'ISO',
  )
  checked += some.length
  isRight &&= errors.length === 0
  console.log(`${name}: ${some.length} checked, ${errors.length} errors`)
  for (const error of errors.slice(0, errorsShown)) console.log(`  ${error}`)
}
if (checked === 0) console.log('no message was checked')
process.exitCode = isRight && checked > 0 ? 0 : 1
