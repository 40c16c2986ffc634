/** The page of the statements that read the rows of all partners. */
import { readSources } from '../../test/tidy/source.ts'
import { readPartnerScans } from '../../test/tidy/statements.ts'
import { markdownTable } from '../../service/src/kernel/index.ts'

export function scansPage(): string {
  const rows = readPartnerScans(readSources()).map(({ path, name, reason }) => [
    `\`${name}\``,
    `\`${path.replace('service/src/', '')}\``,
    reason,
  ])
  const list = markdownTable(['statement', 'file in `service/src`', 'why it reads the rows of all partners'], rows)
  return `# Statements that read the rows of all partners

Those that are marked with \`dueWork\` or \`acrossPartners\` ([scale](../scale.md#statements-that-read-the-rows-of-all-partners)).

${list}
`
}
