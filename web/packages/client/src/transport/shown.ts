/** What a call's data channel shows of the talk: what the user said, and answers that were heard
 * to their end. The server hears it itself, unless its own line to the provider was away. */

export interface Said {
  readonly itemId: string;
  readonly role: "user" | "assistant";
  readonly text: string;
}

interface ChannelEvent {
  readonly type?: string;
  readonly item_id?: string;
  readonly response_id?: string;
  readonly transcript?: string;
}

const MOST = 16; // answers that wait for their end

/** Reads the channel's messages, and tells of each thing said once. */
export function reader(shown: (said: Said) => void): (data: unknown) => void {
  const answers = new Map<string, Said>();
  return (data) => {
    if (typeof data !== "string") return;
    const { type, item_id, response_id, transcript } = parsed(data);
    if (type === "conversation.item.input_audio_transcription.completed" && item_id && transcript) {
      shown({ itemId: item_id, role: "user", text: transcript });
    }
    if (type === "response.output_audio_transcript.done" && response_id && item_id && transcript) {
      answers.set(response_id, { itemId: item_id, role: "assistant", text: transcript });
      const [oldest] = answers.keys();
      if (answers.size > MOST && oldest !== undefined) answers.delete(oldest);
    }
    if (!response_id) return;
    const answer = answers.get(response_id);
    // One that was cut off was not heard as it was written: only the server knows how far.
    if (answer && type === "output_audio_buffer.stopped") shown(answer);
    if (type?.startsWith("output_audio_buffer.") && type !== "output_audio_buffer.started") {
      answers.delete(response_id);
    }
  };
}

function parsed(data: string): ChannelEvent {
  try {
    return (JSON.parse(data) ?? {}) as ChannelEvent;
  } catch {
    return {};
  }
}
