// Written by `mailbag install opencode`; `mailbag uninstall opencode` removes it. Changes between the two marks are lost.
// Announces mail to sessions of OpenCode, stops edits of claimed files, and wakes idle sessions. Without mailbag it does nothing.
import { spawn } from "node:child_process"
import { randomBytes } from "node:crypto"

const COMMAND = ["mailbag", "hook", "opencode"]

// Runs the hook with an event as JSON. Resolves with its answer, or with {} if there is none.
function hook(event, more, running) {
  return new Promise((resolve) => {
    const child = spawn(COMMAND[0], [...COMMAND.slice(1), ...more], { cwd: event.cwd, stdio: ["pipe", "pipe", "ignore"] })
    let said = ""
    child.on("error", () => resolve({}))
    child.stdin.on("error", () => {})
    child.stdout.on("data", (data) => (said += data))
    child.on("close", () => {
      try {
        resolve(JSON.parse(said) ?? {})
      } catch {
        resolve({})
      }
    })
    child.stdin.end(JSON.stringify(event))
    running?.(child)
  })
}

// The environment of the MCP server: the agent of all sessions, if there is one.
function environment() {
  const at = COMMAND.indexOf("--as")
  return at < 0 ? {} : { MAILBAG_AGENT: COMMAND[at + 1] }
}

export const Mailbag = async ({ client, directory }) => {
  const parents = new Map() // the session of each sub-agent
  const fresh = new Set() // sessions that were created here and have had no prompt
  const known = new Set() // sessions that have had a prompt here
  const continued = new Set() // sessions whose turn began with mail at a stop
  const waiting = new Map() // the process that waits for mail for each idle session
  const edits = ["edit", "write", "patch", "apply_patch", "multiedit"]

  const event = (name, session, fields) => ({ hook_event_name: name, session_id: session, cwd: directory, ...fields })
  const ask = (name, session, fields) => hook(event(name, session, fields), [])
  const prompt = (session, text) =>
    client.session.promptAsync({ path: { id: session }, body: { parts: [{ type: "text", text, synthetic: true }] } })

  async function wait(session) {
    if (waiting.has(session)) return
    waiting.set(session, undefined)
    const { text } = await hook(event("Stop", session), ["--idle"], (child) => waiting.set(session, child))
    waiting.delete(session)
    if (text) await prompt(session, text).catch(() => {})
  }

  async function stopped(session) {
    const again = continued.delete(session)
    const { text } = await ask("Stop", session, { stop_hook_active: again })
    if (text) continued.add(session)
    return text ? prompt(session, text).catch(() => {}) : wait(session)
  }

  process.on("exit", () => waiting.forEach((child) => child?.kill()))

  return {
    config: async (config) => {
      config.mcp ??= {}
      config.mcp.mailbag ??= { type: "local", command: [COMMAND[0], "mcp"], enabled: true, environment: environment() }
    },
    event: async ({ event: { type, properties } }) => {
      const session = properties?.sessionID ?? properties?.info?.id
      if (type === "session.created") {
        const parent = properties.info?.parentID
        parent ? parents.set(session, parent) : fresh.add(session)
      }
      if (type === "session.idle" && known.has(session)) void stopped(session)
      if (type === "session.compacted" && known.has(session)) known.delete(session)
      if (type === "session.deleted" && known.has(session)) {
        waiting.get(session)?.kill()
        await ask("SessionEnd", session)
      }
    },
    "chat.message": async ({ sessionID }, { message, parts }) => {
      if (parents.has(sessionID)) return
      const starts = !known.has(sessionID)
      const name = starts ? "SessionStart" : "UserPromptSubmit"
      const { text } = await ask(name, sessionID, starts ? { source: fresh.has(sessionID) ? "startup" : "resume" } : {})
      known.add(sessionID)
      fresh.delete(sessionID)
      const id = "prt_" + Date.now().toString(16).padStart(12, "0") + randomBytes(7).toString("hex")
      if (text) parts.push({ id, sessionID, messageID: message.id, type: "text", text, synthetic: true })
    },
    "tool.execute.before": async ({ tool, sessionID }, { args }) => {
      if (!edits.includes(tool)) return
      const answer = await ask("PreToolUse", parents.get(sessionID) ?? sessionID, { tool_name: tool, tool_input: args })
      if (answer.deny) throw new Error(answer.text)
    },
    "tool.execute.after": async ({ sessionID }, output) => {
      if (parents.has(sessionID) || typeof output?.output !== "string") return
      const { text } = await ask("PostToolUse", sessionID)
      if (text) output.output += `\n\n${text}`
    },
    "shell.env": async ({ sessionID }, { env }) => {
      if (sessionID) env.OPENCODE_SESSION_ID = sessionID
    },
  }
}
