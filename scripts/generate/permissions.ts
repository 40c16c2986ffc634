/** `docs/permissions.md`: who may call what, printed from the rules that the service applies. */
import { type Operation, operationIds, operations, permissions, roleAllows, users } from '@partner-payments/wire'
import { generatedMark, table } from './markdown.ts'

const { roles } = users

const verdict = (allowed: boolean) => (allowed ? 'yes' : 'no')

export function permissionsPage(): string {
  const matrix = table(
    ['permission', ...roles],
    permissions.map((permission) => [
      `\`${permission}\``,
      ...roles.map((role) => verdict(roleAllows(role, permission))),
    ]),
  )
  const rows = operationIds.map((id) => {
    const { method, path, permission, source, sandboxOnly }: Operation = operations[id]
    const where = sandboxOnly === true ? `${source}, sandbox` : source
    const held = roles.map((role) => verdict(roleAllows(role, permission)))
    return [`\`${id}\``, `\`${method} ${path}\``, where, `\`${permission}\``, ...held]
  })
  return `# Permissions

${generatedMark}

Each operation needs one permission, \`<group>:read\` or \`<group>:write\`; without it the answer is 403
\`permission_denied\`. A service account holds explicit permissions, listed where it is created. A role is a named set of
them (\`wire/src/roles.ts\`). An impersonated session holds reads only: each write is 403 \`impersonation_write_blocked\`.

## Permissions and roles

${matrix}

## Operations, permissions and roles

${table(['operation', 'endpoint', 'source', 'permission', ...roles], rows)}
`
}
