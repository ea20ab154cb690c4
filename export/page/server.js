"use strict";
// TensorFlow Serving's REST interface, and what can go wrong with it.

const TIMEOUT_MS = 60_000;
const PROBE_MS = 5_000;
const TOO_MANY = 429; // the status of a server that was asked too often
const PAUSES_MS = [1_000, 2_000, 4_000]; // before it is asked again
const MAX_LINES = 32; // in a request: all lines of it, and of its batch, are answered together
const MAX_BYTES = 200_000; // of the lines in a request, of which nginx.conf lets 256 kB through

// Why a call failed: `kind` for the program; `message`, the server's own words in `detail`, and
// what to do about it in `hint`, for people.
class Failure extends Error {
  constructor(kind, message, { detail = "", hint = "" } = {}) {
    super(message);
    Object.assign(this, { kind, detail, hint });
  }
}

// The answers for parts of the text that is under way. When a later part fails, and the text is tried
// again, these parts are not asked again.
const answered = new Map();

// One prediction for each line. Throws a Failure, or anything at all once `signal` is aborted.
async function predict(settings, signature, lines, signal) {
  const predictions = [];
  for (const some of parts(lines)) {
    const part = JSON.stringify([signature, some]);
    if (!answered.has(part)) answered.set(part, await predictSome(settings, signature, some, signal));
    predictions.push(...answered.get(part));
  }
  return predictions;
}

// Lines in their order, as many at a time as a request may have. Objects are lines with fields.
function parts(lines) {
  const made = [];
  let room = 0;
  for (const line of lines) {
    const bytes = new TextEncoder().encode(JSON.stringify(line)).length;
    if (room < bytes || made.at(-1).length === MAX_LINES) {
      made.push([]);
      room = MAX_BYTES;
    }
    made.at(-1).push(line);
    room -= bytes;
  }
  return made;
}

async function predictSome(settings, signature, lines, signal) {
  const body = JSON.stringify({ signature_name: signature, instances: lines });
  const answer = await patientCall(`${modelAddress(settings)}:predict`, signal, body);
  if (answer.status !== 200) throw await refusal(answer, settings, signature, signal);
  const predictions = answer.content?.predictions;
  if (!Array.isArray(predictions)) throw malformed("there are no predictions in it");
  if (predictions.length !== lines.length) {
    throw malformed(`${predictions.length} predictions for ${lines.length} lines`);
  }
  return predictions;
}

// As `call`, and again after a while where the server was asked too often.
async function patientCall(address, signal, body) {
  for (const pause of PAUSES_MS) {
    const answer = await call(address, signal, body);
    if (answer.status !== TOO_MANY) return answer;
    await new Promise((over) => setTimeout(over, pause));
    signal.throwIfAborted();
  }
  return call(address, signal, body);
}

// Returns when a version of the model can be asked; else throws a Failure that says why not.
async function checkModel(settings, signal) {
  const answer = await call(modelAddress(settings), signal);
  if (answer.status === 404 && answer.error) {
    throw new Failure("no model", `${settings.server} has no model ${modelTitle(settings)}.`, {
      detail: answer.error,
      hint: "Is the name in the settings that of the server's --model_name?",
    });
  }
  if (answer.status !== 200) throw httpFailure(answer, settings);
  const versions = answer.content?.model_version_status;
  if (!Array.isArray(versions)) throw malformed("there is no model status in it");
  if (versions.some((version) => version?.state === "AVAILABLE")) return;
  if (versions.some((version) => ["START", "LOADING"].includes(version?.state))) {
    throw new Failure("loading", `The server is still loading ${modelTitle(settings)}.`, {
      hint: "Try again in a moment.",
    });
  }
  const reasons = versions.map((version) => version?.status?.error_message);
  throw new Failure("not available", `The server could not load ${modelTitle(settings)}.`, {
    detail: reasons.filter(Boolean).map(String).join("; "),
  });
}

function malformed(what) {
  return new Failure("malformed", `The server's answer cannot be used: ${what}.`, {
    hint: "Is it TensorFlow Serving, and this model, at the address in the settings?",
  });
}

async function refusal(answer, settings, signature, signal) {
  const { status, error } = answer;
  if ((status === 400 || status === 404) && /signature/i.test(error)) {
    return new Failure("signature", `This model has no signature “${signature}”.`, { detail: error });
  }
  if (status === 404 || status === 503) {
    try {
      await checkModel(settings, signal);
    } catch (failure) {
      return failure;
    }
  }
  return httpFailure(answer, settings);
}

function httpFailure({ status, error }, { server }) {
  return error
    ? new Failure("http", `The server refused: HTTP ${status}.`, { detail: error })
    : new Failure("http", `${server} answered HTTP ${status}, not as TensorFlow Serving does.`, {
        hint: "Is the server address in the settings right?",
      });
}

// POSTs `body`, or GETs without one. Returns {status, content, error}: the JSON, undefined where
// it is none, and the server's error message in it, or "".
async function call(address, signal, body) {
  const ours = new AbortController();
  const abort = () => ours.abort();
  let late = false;
  let begun = false;
  const timer = setTimeout(() => ours.abort((late = true)), TIMEOUT_MS);
  signal.addEventListener("abort", abort);
  try {
    // Sent as text/plain, which needs no preflight: a page from a file could not pass one.
    const method = body === undefined ? "GET" : "POST";
    const answer = await fetch(address, { method, body, cache: "no-store", signal: ours.signal });
    begun = true;
    const content = parsedJson(await answer.text());
    if (answer.ok && content === undefined) throw malformed("it is not JSON");
    const error = typeof content?.error === "string" ? content.error : "";
    return { status: answer.status, content, error };
  } catch (error) {
    if (error instanceof Failure || signal.aborted) throw error;
    if (late) throw timedOut(address);
    throw begun ? brokenOff(address) : await unreachable(address);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", abort);
  }
}

function parsedJson(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function timedOut(address) {
  const seconds = TIMEOUT_MS / 1000;
  return new Failure("timeout", `${new URL(address).origin} gave no answer in ${seconds} seconds.`, {
    hint: "It may be busy: try again, or with less text.",
  });
}

function brokenOff(address) {
  return new Failure("broken off", `The answer of ${new URL(address).origin} broke off.`, {
    hint: "Try again in a moment.",
  });
}

// A browser tells a page no difference between a server that is down and one that does not let it
// read the answer; an answer that nobody reads tells it.
async function unreachable(address) {
  const { origin, protocol } = new URL(address);
  if (origin !== location.origin && (await answersUnread(address))) {
    return new Failure("cors", `${origin} is running, but does not let this page read its answers.`, {
      hint: "Start it with --rest_api_enable_cors_support, or serve this page from its address.",
    });
  }
  const insecure = location.protocol === "https:" && protocol === "http:";
  const cors = "For this page it must be started with --rest_api_enable_cors_support.";
  const hints = [
    "Is the server running there? It is the address of --rest_api_port.",
    origin === location.origin ? "" : cors,
    insecure ? "A page from https:// may not be allowed to call a server at http://." : "",
  ];
  return new Failure("unreachable", `${origin} cannot be reached.`, {
    hint: hints.filter(Boolean).join(" "),
  });
}

async function answersUnread(address) {
  const probe = new AbortController();
  const timer = setTimeout(() => probe.abort(), PROBE_MS);
  try {
    await fetch(new URL("/v1/models", address), { mode: "no-cors", signal: probe.signal });
    return true;
  } catch {
    return false;
  } finally {
    clearTimeout(timer);
  }
}
